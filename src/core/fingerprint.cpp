#include "core/fingerprint.h"

#include <string>
#include <type_traits>

namespace retryd::core {

std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3ULL;
    }
    return hash;
}

std::string hex(std::uint64_t number) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text(16, '0');
    for (auto at = text.rbegin(); at != text.rend(); ++at, number >>= 4U)
        *at = digits[number & 0xfU];
    return text;
}

namespace {

/// Everything one after the other, as text; read by nobody but the hash.
void write(std::string& out, const Value& value);

void write(std::string& out, std::string_view text) {
    out.append(std::to_string(text.size())).append(":").append(text);
}

void write(std::string& out, const Table& table) {
    for (const Field& field : table) {
        write(out, field.name);
        write(out, field.value);
    }
    out.push_back('.');
}

void write(std::string& out, const Array& array) {
    for (const Value& value : array)
        write(out, value);
    out.push_back('.');
}

void write(std::string& out, const Value& value) {
    out.push_back(static_cast<char>(value.kind));
    std::visit(
        [&](const auto& data) {
            using Data = std::decay_t<decltype(data)>;
            if constexpr (std::is_arithmetic_v<Data>) {
                write(out, std::string_view{std::to_string(data)});
            } else if constexpr (std::is_same_v<Data, Decimal>) {
                write(out, std::string_view{std::to_string(data.unscaled)});
            } else if constexpr (!std::is_same_v<Data, std::monostate>) {
                write(out, data);
            }
        },
        value.data);
}

bool counts_deliveries(std::string_view header) {
    return header == "x-delivery-count" || header == "x-acquired-count";
}

}  // namespace

std::uint64_t digest(const Message& message) {
    std::string rest;
    for (const Field& field : message.properties.header_table()) {
        if (counts_deliveries(field.name)) continue;
        write(rest, field.name);
        write(rest, field.value);
    }
    write(rest, message.properties.message_id.value_or(""));
    write(rest, std::to_string(fnv1a(message.body)));
    return fnv1a(rest);
}

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
