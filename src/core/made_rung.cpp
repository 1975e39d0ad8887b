#include "core/made_rung.h"

#include <algorithm>

#include "core/duration.h"
#include "core/names.h"

namespace retryd::core {
namespace {

const Argument* find(const Arguments& arguments, std::string_view name) {
    for (const auto& [argument, value] : arguments) {
        if (argument == name) return &value;
    }
    return nullptr;
}

const std::string* text_in(const Arguments& arguments, std::string_view name) {
    const Argument* value = find(arguments, name);
    return value == nullptr ? nullptr : std::get_if<std::string>(value);
}

/// The ladder in a name that has the shape of a shared rung's.
std::string_view ladder_in(std::string_view name) {
    const std::size_t start = name.find('.') + 1;
    return name.substr(start, name.find('.', start) - start);
}

bool has_rung(const Ladder& ladder, Milliseconds delay) {
    const auto delays = distinct_delays(ladder);
    return std::find(delays.begin(), delays.end(), delay) != delays.end();
}

}  // namespace

std::optional<MadeRung> made_rung(std::string_view name, const Arguments& arguments) {
    const Argument* ttl = find(arguments, "x-message-ttl");
    const std::string* exchange = text_in(arguments, "x-dead-letter-exchange");
    if (ttl == nullptr || !std::holds_alternative<std::int64_t>(*ttl) || exchange == nullptr) return std::nullopt;
    const Milliseconds delay{std::get<std::int64_t>(*ttl)};
    if (delay < Milliseconds{1} || delay > longest_ttl) return std::nullopt;
    const auto is_named = [&](const auto& naming, std::string_view owner) {
        return name == naming(owner, delay, false) || name == naming(owner, delay, true);
    };
    const std::string* work_queue = text_in(arguments, "x-dead-letter-routing-key");
    if (exchange->empty() && work_queue != nullptr && is_named(rung_name, *work_queue)) {
        return MadeRung{*work_queue, ReturnPath::queue, delay};
    }
    if (*exchange != return_exchange_name || work_queue != nullptr || !looks_like_shared_rung(name))
        return std::nullopt;
    const std::string_view ladder = ladder_in(name);
    if (!is_named(shared_rung_name, ladder)) return std::nullopt;
    return MadeRung{std::string{ladder}, ReturnPath::headers, delay};
}

bool is_in_use(const Policy& policy, const MadeRung& rung) {
    if (rung.return_path == ReturnPath::queue) {
        const Entry* entry = match(policy, rung.serves);
        return entry != nullptr && entry->ladder.return_path == ReturnPath::queue &&
               has_rung(entry->ladder, rung.delay);
    }
    return std::any_of(policy.entries.begin(), policy.entries.end(), [&](const Entry& entry) {
        return entry.ladder.return_path == ReturnPath::headers && entry.ladder.name == rung.serves &&
               has_rung(entry.ladder, rung.delay);
    });
}

}  // namespace retryd::core
