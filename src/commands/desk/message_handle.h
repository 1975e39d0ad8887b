// What a message in a list is called, so that it is found again: a number made of all that its publisher, or retryd,
// has written into it. Nobody can make a message that has the handle of another one, for the hash has a key, which
// lives as long as the process.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "admin/parked.h"
#include "core/message.h"

namespace retryd::commands {

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
