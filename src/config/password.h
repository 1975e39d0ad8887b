// Passwords that stand in the file, or in files that it names.
#pragma once

#include <optional>
#include <string>

#include "config/load.h"
#include "config/position.h"
#include "config/problem.h"

namespace retryd::config {

/// Two keys of which only one may be given.
void exclude(const Place& one, const Place& other, Problems& problems);

/// The contents of a file that a key names; nothing, and a problem, where it cannot be read.
std::optional<std::string> read_named_file(const Given<std::string>& file, const Surroundings& surroundings,
                                           Problems& problems);

/// The one that is given, or the one in the file, without the line break at its end. Nothing where neither is given;
/// an empty one, so that no other problem follows, where the file cannot be read.
std::optional<std::string> read_password(const Given<std::string>& password, const Given<std::string>& file,
                                         const Surroundings& surroundings, Problems& problems);

}  // namespace retryd::config
