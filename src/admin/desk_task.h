// An action on parked, waiting or held messages that an operator asks for over HTTP: what the daemon and the commands
// that carry it out tell each other. The daemon knows who may ask, and which actions are under way; the commands know
// the rest.
#pragma once

#include <cstddef>
#include <cstdint>
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
    /// Holding changes no message: it takes a work queue's name, and a moment.
    enum class Place { parking, waiting, holding } place = Place::parking;

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

/// What came of holding what fails in a work queue, or of releasing what is held of it.
struct HoldAnswer {
    std::string refusal = {};  // why nothing was done; empty where it was
    std::string said = {};     // what follows, for a person
    std::string held_queue = {};
    bool holding = false;                        // from now on; else it is being sent home
    std::optional<std::uint64_t> messages = {};  // that are held, as far as they are counted
    double per_second = 0;                       // at first, where it is being sent home
};

/// What an action that is under way is told and asked.
struct DeskControl {
    std::string id;                                   // of the run, 16 hex digits
    std::string by;                                   // for the header retryd-edited
    std::function<bool()> go_on;                      // asked often; false: end in order, as Ctrl-C ends a command
    std::function<void(const DeskProgress&)> report;  // called often
    /// What `parked undo` needs to know of an earlier run: JSON with its `request` and `result`; empty where it is
    /// unknown.
    std::function<std::string(const std::string& run)> earlier;
    /// Holds what fails in that work queue from now on, or releases what is held of it.
    std::function<HoldAnswer(const std::string& work_queue, bool hold)> hold;
};

struct DeskOutcome {
    bool ok = false;       // as the command's exit code 0
    bool stopped = false;  // it was told to
    std::string error;     // why there is no result
    std::string result;    // JSON, as the command prints it with --json; empty where there is none
    std::size_t done = 0;  // messages that were changed, or seen
};

}  // namespace retryd::admin
