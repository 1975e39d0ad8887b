#include "core/fingerprint.h"

#include <string>
#include <type_traits>

namespace retryd::core {
namespace {

// A message as text, for the hash alone: every value one after the other, each text with its length before it.

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

/// A policy as text, for the hash alone: each piece with its length before it, so that no two policies look alike.
class PolicyText {
  public:
    PolicyText& operator<<(std::string_view piece) {
        text_.append(std::to_string(piece.size())).append(":").append(piece);
        return *this;
    }
    PolicyText& operator<<(std::int64_t number) { return *this << std::string_view{std::to_string(number)}; }

    const std::string& all() const { return text_; }

  private:
    std::string text_;
};

void add(PolicyText& text, const Ladder& ladder) {
    text << ladder.name << to_string(ladder.queue_type) << to_string(ladder.return_path) << ladder.jitter.width_percent
         << ladder.jitter.lanes << static_cast<std::int64_t>(ladder.steps.size());
    for (const Milliseconds step : ladder.steps)
        text << step.count();
}

void add(PolicyText& text, const Parking& parked) {
    text << parked.queue << parked.exchange << (parked.routing_key ? 1 : 0) << parked.routing_key.value_or("");
}

void add(PolicyText& text, const Entry& entry) {
    text << entry.match;
    add(text, entry.ladder);
    add(text, entry.parked);
    text << to_string(entry.on.rejected) << to_string(entry.on.delivery_limit) << to_string(entry.on.expired)
         << to_string(entry.on.maxlen) << (entry.max_age ? entry.max_age->count() : -1);
    if (entry.hold) text << "hold";
    if (entry.verdict) text << "verdict";
    if (entry.ladder.x_death == XDeath::keep) text << "x-death";
    if (!entry.outage) return;
    const OutageRule& outage = *entry.outage;
    text << "outage" << outage.failing_percent << outage.of << outage.within.count() << outage.probe.count()
         << outage.release;
}

}  // namespace

std::string hex(std::uint64_t number) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text(16, '0');
    for (auto at = text.rbegin(); at != text.rend(); ++at, number >>= 4U)
        *at = digits[number & 0xfU];
    return text;
}

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

std::string fingerprint(const Policy& policy) {
    PolicyText text;
    text << policy.error_exchange << policy.error_queue << policy.catch_all;
    for (const Entry& entry : policy.entries)
        add(text, entry);
    for (const Source& source : policy.sources) {
        text << source.queue << to_string(source.dialect) << static_cast<std::int64_t>(source.work_queue.place)
             << source.work_queue.text << source.reason_header;
    }
    return hex(fnv1a(text.all()));
}

std::string consumer_tag(const Policy& policy) {
    return "retryd-" + fingerprint(policy);
}

}  // namespace retryd::core
