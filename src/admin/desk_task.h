// An action on parked or waiting messages that somebody asks for over HTTP: what the daemon and the commands that carry
// it out tell each other. The daemon knows who may ask, and which actions are under way; the commands know the rest.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace retryd::admin {

/// A request, read and found to make sense, or why it does not.
struct DeskTask {
    std::string action;   // as on the command line: "parked replay"
    std::string body;     // JSON, as it was sent
    std::string shown;    // JSON, for whoever asks what it was: without bodies, short
    std::string audited;  // JSON, for the audit: without bodies, with each message that was chosen
    bool changes = false;
    /// The one queue that it looks at or changes; empty: any of `place`.
    std::string queue = {};
    enum class Place { parking, waiting } place = Place::parking;

    std::string fault = {};       // why it makes no sense; empty where it does
    std::string fault_code = {};  // bad_request, select, not_found
};

struct DeskProgress {
    std::string doing;  // "replayed"
    std::string queue;
    std::size_t done = 0;
    std::size_t all = 0;
    std::string note;
};

/// What an action that is under way is told and asked.
struct DeskControl {
    std::string id;                                   // of the run, 16 hex digits
    std::string by;                                   // for the header retryd-edited
    std::function<bool()> go_on;                      // asked often; false: end in order, as Ctrl-C ends a command
    std::function<void(const DeskProgress&)> report;  // called often
    /// What `parked undo` needs to know of an earlier run: JSON with its `request` and `result`; empty where nobody
    /// knows it.
    std::function<std::string(const std::string& run)> earlier;
};

struct DeskOutcome {
    bool ok = false;       // as the command's exit code 0
    bool stopped = false;  // it was told to
    std::string error;     // why there is no result
    std::string result;    // JSON, as the command prints it with --json; empty where there is none
    std::size_t done = 0;  // messages that were changed, or seen
};

}  // namespace retryd::admin
