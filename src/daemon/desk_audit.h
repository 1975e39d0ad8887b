// The file of http.audit: who has done what over HTTP, one line of JSON when it begins and one when it ends.
#pragma once

#include <string>

namespace retryd::daemon {

/// Appends the line and its end, and waits until it is on the disk: it may take as long as the file system likes.
/// Returns why that failed; empty where it did not. Creates the file. It begins a line of its own even where an earlier
/// write was cut off. Several processes may write to the same file. An empty name: nothing is written, and nothing
/// failed.
std::string append_to_audit(const std::string& file, const std::string& line);

}  // namespace retryd::daemon
