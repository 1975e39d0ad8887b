// Checks the values of a configuration against each other, and makes the settings of them.
//
// A single value has been checked when it was read (scalars.h). What needs a second value is checked here: files that
// must exist, keys that exclude each other, ladders that entries name, queues that would be two things at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/environment.h"
#include "config/problem.h"
#include "config/raw_config.h"
#include "config/settings.h"

namespace retryd::config {

/// The settings; of use only if `problems` is empty afterwards. `problems` holds what has been found while reading:
/// nothing is added that merely follows from it. Reads the files that the configuration names.
Settings validate(RawConfig raw, const FileEnvironment& env, Problems& problems);

// Parts of it, in validate_broker.cpp: how the broker is reached, and the files of secrets that the configuration
// names.

/// broker:
void validate_broker(const RawBroker& raw, const FileEnvironment& env, Broker& broker, Problems& problems);

/// management: Nothing where there is no management API to ask. Without a user name and a password, those of the first
/// endpoint of `broker`.
std::optional<Management> validate_management(const RawManagement& raw, const FileEnvironment& env,
                                              const Broker& broker, Problems& problems);

/// What `http` has besides `listen`. A password goes over the wire in clear, so that only this machine may be asked.
void validate_http(const RawHttp& raw, const FileEnvironment& env, std::optional<Http>& http, Problems& problems);

/// The lines of errors.key_file, empty ones left out.
std::vector<std::string> read_secrets(const Given<std::string>& file, const FileEnvironment& env, Problems& problems);

}  // namespace retryd::config
