// Text → settings, or everything that is wrong with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "config/environment.h"
#include "config/problem.h"
#include "config/settings.h"

namespace retryd::config {

/// What the loader may know of its surroundings; handed in so that tests need neither environment nor files.
struct Surroundings {
    Environment environment;
    /// The file's contents, or nothing and the reason in `error`.
    std::function<std::optional<std::string>(const std::string& path, std::string& error)> read_file;
};

/// The process's own environment and files.
Surroundings real_surroundings();

/// All the problems at once, in the order of the file; or settings without any.
/// Secrets (password, URI) never appear in a problem's text.
std::variant<Settings, Problems> load(const std::string& text, const Surroundings& surroundings);

/// Reads the file and loads it; a file that cannot be read is a problem too.
std::variant<Settings, Problems> load_file(const std::string& path, const Surroundings& surroundings);

}  // namespace retryd::config
