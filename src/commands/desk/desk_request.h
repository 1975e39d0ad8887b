// Reads a request to the desk from JSON: the options of the command line, with the same names. Strict: unknown keys and
// wrong values are reported, and nothing is done.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/desk_task.h"
#include "admin/parked.h"
#include "commands/common/json.h"
#include "commands/parked/browser.h"
#include "commands/parked/replay_and_drop.h"
#include "commands/waiting.h"
#include "core/message.h"

namespace retryd::commands {

struct DeskRequest {
    ParkedOptions parked;
    ParkedRunOptions run;
    WaitingOptions waiting;
    std::vector<std::string> handles;  // of chosen messages

    std::string by;           // for groups: what to group by
    std::size_t after = 0;    // for messages: the number of the last one seen
    std::size_t limit = 100;  // for messages
    std::string message;      // for show and edit: a handle
    /// For drop: the number of messages that the person agreed to; if the number differs, nothing is dropped. Absent:
    /// any number.
    std::optional<std::size_t> expected;
    std::size_t body_limit = std::size_t{1024} * 1024;
    std::string replay_run;  // for undo
    std::string work_queue;  // for hold and release

    // For edit; absent: unchanged.
    std::optional<Json> properties;
    std::optional<Json> headers;
    Json body;  // an object with `body` or `body_base64`, or none

    std::string fault;  // what is wrong; empty if nothing is
    std::string fault_code = "bad_request";
    Json shown;    // to be shown: without bodies, and chosen messages only as a number
    Json audited;  // for the audit file: without bodies
};

/// `action`: as in admin::DeskTask.
DeskRequest read_request(const std::string& action, const std::string& body);

/// 32 hex digits that identify a message. Equal messages have the same handle; what the broker counts on a delivery and
/// the order of headers with different names are ignored (as in admin::same_message).
std::string handle_of(const core::Message& message);
bool is_handle(std::string_view text);

/// Chooses the messages with these handles; a handle that is listed twice means two messages.
class ChosenMessages : public admin::MessageChoice {
  public:
    explicit ChosenMessages(const std::vector<std::string>& handles);

    void begin() override { left_ = wanted_; }
    bool take(const core::Message& message) override;

  private:
    std::map<std::string, std::size_t, std::less<>> wanted_;
    std::map<std::string, std::size_t, std::less<>> left_;
};

}  // namespace retryd::commands
