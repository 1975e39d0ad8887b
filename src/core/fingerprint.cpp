#include "core/fingerprint.h"

#include "core/hash.h"

namespace retryd::core {
namespace {

/// Everything one after the other, each piece with its length before it, so that no two policies look alike.
class Account {
  public:
    Account& operator<<(std::string_view piece) {
        text_.append(std::to_string(piece.size())).append(":").append(piece);
        return *this;
    }
    Account& operator<<(std::int64_t number) { return *this << std::string_view{std::to_string(number)}; }

    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

void add(Account& account, const Ladder& ladder) {
    account << ladder.name << to_string(ladder.queue_type) << to_string(ladder.return_path)
            << ladder.jitter.width_percent << ladder.jitter.lanes << static_cast<std::int64_t>(ladder.steps.size());
    for (const Milliseconds step : ladder.steps)
        account << step.count();
}

void add(Account& account, const Parking& parked) {
    account << parked.queue << parked.exchange << (parked.routing_key ? 1 : 0) << parked.routing_key.value_or("");
}

void add(Account& account, const Entry& entry) {
    account << entry.match;
    add(account, entry.ladder);
    add(account, entry.parked);
    account << to_string(entry.on.rejected) << to_string(entry.on.delivery_limit) << to_string(entry.on.expired)
            << to_string(entry.on.maxlen) << (entry.max_age ? entry.max_age->count() : -1);
}

}  // namespace

std::string fingerprint(const Policy& policy) {
    Account account;
    account << policy.error_exchange << policy.error_queue << policy.catch_all;
    for (const Entry& entry : policy.entries)
        add(account, entry);
    return hex(fnv1a(account.text()));
}

std::string consumer_tag(const Policy& policy) {
    return "retryd-" + fingerprint(policy);
}

}  // namespace retryd::core
