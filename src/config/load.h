// Text → settings, or everything that is wrong with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "config/position.h"
#include "config/problem.h"
#include "config/settings.h"

namespace retryd::config {

// ${NAME} in the texts of the file.

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct Expansion {
    std::string text;
    bool used_environment = false;
    std::string complaint;  // "what is wrong; what was expected"; empty if all went well
};

/// `${NAME}`: the variable, which must be set. `${NAME:-default}`: the default where it is unset or empty, as in a
/// shell; the default reaches to the first `}`. `$${` stands for a literal `${`. Any other `$` stands for itself.
/// What comes from the environment is not looked at again. A complaint names the variable, never a value.
Expansion expand(const std::string& text, const Environment& environment);

/// What the loader may know of its env; handed in so that tests need neither environment nor files.
struct FileEnvironment {
    Environment environment;
    /// The file's contents, or nothing and the reason in `error`.
    std::function<std::optional<std::string>(const std::string& path, std::string& error)> read_file;
};

/// The process's own environment and files.
FileEnvironment process_environment();

/// All the problems at once, in the order of the file; or settings without any.
/// Secrets (password, URI) never appear in a problem's text.
std::variant<Settings, Problems> load(const std::string& text, const FileEnvironment& env);

/// Reads the file and loads it; a file that cannot be read is a problem too.
std::variant<Settings, Problems> load_file(const std::string& path, const FileEnvironment& env);

// Passwords that stand in the file, or in files that it names.

/// Two keys of which only one may be given.
void exclude(const Place& one, const Place& other, Problems& problems);

/// The contents of a file that a key names; nothing, and a problem, where it cannot be read.
std::optional<std::string> read_named_file(const Given<std::string>& file, const FileEnvironment& env,
                                           Problems& problems);

/// The one that is given, or the one in the file, without the line break at its end. Nothing where neither is given;
/// an empty one, so that no other problem follows, where the file cannot be read.
std::optional<std::string> read_password(const Given<std::string>& password, const Given<std::string>& file,
                                         const FileEnvironment& env, Problems& problems);

}  // namespace retryd::config
