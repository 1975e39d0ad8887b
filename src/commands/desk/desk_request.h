// What somebody asks for over HTTP, out of JSON: the options of the command line, by the same names. Strict: a key that
// is not known, or a value that makes no sense, is told, and nothing is done.
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

    std::string by;           // of groups
    std::size_t after = 0;    // of messages: the number of the last one that was seen
    std::size_t limit = 100;  // of messages
    std::string message;      // a handle: of show and edit
    /// Of drop: how many messages the person has agreed to; with any other number nothing is dropped. Absent: any.
    std::optional<std::size_t> expected;
    std::size_t body_limit = std::size_t{1024} * 1024;
    std::string replay_run;  // of undo
    std::string work_queue;  // to be held or released

    // Of edit; absent: as it is.
    std::optional<Json> properties;
    std::optional<Json> headers;
    Json body;  // an object with `body` or `body_base64`, or none

    std::string fault;  // empty: it makes sense
    std::string fault_code = "bad_request";
    Json shown;    // for whoever asks what was asked: without bodies, and the chosen messages only counted
    Json audited;  // without bodies
};

/// `action`: the words of admin::DeskTask.
DeskRequest read_request(const std::string& action, const std::string& body);

/// 32 hex digits. The same for messages that are equal in everything but what the broker counts on a delivery, and but
/// the order of headers with different names (as admin::same_message has it).
std::string handle_of(const core::Message& message);
bool is_handle(std::string_view text);

/// The messages with these handles; one that is there twice means two of them.
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
