// The messages of the play, and what the consumer's trouble with each of them is.
#pragma once

#include <array>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/message.h"

namespace retryd::demo {

struct Mail {
    std::string_view id;  // its message-id, and what the screen calls it
    std::string_view subject;
    std::string_view routing_key;
    int failures;              // so many tries fail
    std::string_view trouble;  // what the consumer says then
};

/// Not by waiting: somebody has to mend the consumer.
inline constexpr int until_mended = std::numeric_limits<int>::max();

std::span<const Mail> all_mails();

/// A mail as its producer makes it. Not to be moved: the message looks into it.
class MailMessage {
  public:
    explicit MailMessage(const Mail& mail);
    MailMessage(const MailMessage&) = delete;
    MailMessage& operator=(const MailMessage&) = delete;

    const core::Message& get() const { return message_; }

  private:
    std::array<core::Field, 1> headers_;
    core::Message message_;
};

/// Whose message is that?
enum class Origin { this_run, earlier_run, elsewhere };
Origin origin_of(const core::Message& message);

/// The mail that a message of this run is; throws std::runtime_error if it is none of them.
const Mail& mail_of(const core::Message& message);

/// The headers that the producer set: all but those of the broker (x-) and of retryd (retryd-).
std::vector<core::Field> producers_headers(const core::Message& message);

/// Whether body, properties and the producer's headers are as they were sent.
bool unchanged(const Mail& mail, const core::Message& message);

}  // namespace retryd::demo
