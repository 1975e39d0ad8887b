// Reads a configuration: settings, or everything that is wrong with the file.
//
// tree.h parses YAML. The tree is read here, by the description of the keys (keys.h), into raw_config.h. validate.h
// checks these values against each other and makes the settings of them.
#pragma once

#include <string>
#include <variant>

#include "config/environment.h"
#include "config/problem.h"
#include "config/settings.h"

namespace retryd::config {

/// All problems at once, in the order of the file; or settings where there is none. A problem never holds a secret
/// (a password, a URI).
std::variant<Settings, Problems> load(const std::string& text, const FileEnvironment& env);

/// Reads the file and loads it. A file that cannot be read is a problem too.
std::variant<Settings, Problems> load_file(const std::string& path, const FileEnvironment& env);

}  // namespace retryd::config
