// An action on parked, waiting or held messages that an operator asks for over HTTP (the desk). The daemon knows who
// may ask and which actions are running; the commands know how to carry one out. These are the types that the two
// exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace retryd::admin {

/// A request that was read; `fault` says what is wrong with it, if anything.
struct DeskTask {
    std::string action;   // as on the command line: "parked replay"
    std::string body;     // JSON, as it was sent
    std::string shown;    // JSON, to be shown: short, without message bodies
    std::string audited;  // JSON, for the audit file: without message bodies, but with every chosen message
    bool changes = false;
    /// The only queue that it looks at or changes; empty: any queue of the kind `place`.
    std::string queue = {};
    /// `holding` changes no message, takes the name of a work queue, and is done at once.
    enum class Place { parking, waiting, holding } place = Place::parking;

    std::string fault = {};       // what is wrong with the request; empty if nothing is
    std::string fault_code = {};  // bad_request, select, not_found
};

struct DeskProgress {
    std::string doing;  // "replayed"
    std::string queue;
    std::size_t done = 0;
    std::size_t all = 0;
    std::string note;
};

/// The result of holding a work queue's failures, or of releasing its held messages.
struct HoldAnswer {
    std::string refusal = {};  // why nothing was done; empty if it was done
    std::string said = {};     // what happens next, in words
    std::string held_queue = {};
    bool holding = false;  // true: failures are held from now on; false: held messages are being sent home
    std::optional<std::uint64_t> messages = {};  // how many are held, if known
    double per_second = 0;                       // how many are sent home a second, at first
};

/// How the daemon controls a running action.
struct DeskControl {
    std::string id;                                   // of the run, 16 hex digits
    std::string by;                                   // who asked; for the header retryd-edited
    std::function<bool()> go_on;                      // asked often; false: end cleanly, as a command does on Ctrl-C
    std::function<void(const DeskProgress&)> report;  // called often
    /// What `parked undo` needs to know of an earlier run: JSON with its `request` and `result`; empty where it is
    /// unknown.
    std::function<std::string(const std::string& run)> earlier;
    /// Holds what fails in that work queue from now on, or releases what is held of it.
    std::function<HoldAnswer(const std::string& work_queue, bool hold)> hold;
};

struct DeskOutcome {
    bool ok = false;       // true where the command would exit with 0
    bool stopped = false;  // it ended early because go_on() said so
    std::string error;     // why there is no result; empty if there is one
    std::string result;    // what the command prints with --json; empty if there is no result
    std::size_t done = 0;  // how many messages were changed, or seen
};

}  // namespace retryd::admin
