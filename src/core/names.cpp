#include "core/names.h"

#include <algorithm>

#include "core/duration.h"
#include "core/fingerprint.h"

namespace retryd::core {

namespace {

constexpr std::string_view rung_infix = ".retry.";
constexpr std::string_view high_suffix = ".high";
constexpr std::string_view shared_prefix = "retryd.";

/// before + queue + after, the queue shortened so that the whole is a possible queue name.
std::string fit(std::string_view before, std::string_view queue, std::string_view after,
                std::size_t longest = longest_queue_name) {
    const std::size_t around = before.size() + after.size();
    std::string name{before};
    if (around + queue.size() <= longest) {
        name.append(queue);
    } else {
        const std::string hash = '~' + hex(fnv1a(queue));
        const std::size_t taken = around + hash.size();
        name.append(utf8_prefix(queue, taken < longest ? longest - taken : 0)).append(hash);
    }
    return name.append(after);
}

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

std::string rung_name(std::string_view work_queue, Milliseconds delay, bool high_priority) {
    std::string after{rung_infix};
    after.append(format_duration(delay));
    if (high_priority) after.append(high_suffix);
    return fit("", work_queue, after);
}

std::string held_name(std::string_view work_queue, std::size_t longest) {
    return fit("", work_queue, held_suffix, longest);
}

std::string shared_rung_name(std::string_view ladder, Milliseconds delay, bool high_priority) {
    std::string name{shared_prefix};
    name.append(ladder).append(".").append(format_duration(delay));
    if (high_priority) name.append(high_suffix);
    return name;
}

std::string detour_name(Milliseconds delay) {
    return shared_rung_name(detour_word, delay, false);
}

bool is_detour(std::string_view name) {
    if (!looks_like_detour(name)) return false;
    return std::any_of(detour_delays.begin(), detour_delays.end(),
                       [&](Milliseconds delay) { return name == detour_name(delay); });
}

bool looks_like_detour(std::string_view name) {
    return looks_like_shared_rung(name) && ladder_in(name) == detour_word;
}

std::string expand_queue(std::string_view pattern, std::string_view work_queue, std::size_t longest) {
    const std::size_t at = pattern.find(queue_placeholder);
    if (at == std::string_view::npos) return std::string{pattern};
    return fit(pattern.substr(0, at), work_queue, pattern.substr(at + queue_placeholder.size()), longest);
}

bool looks_like_rung(std::string_view name) {
    if (name.ends_with(high_suffix)) name.remove_suffix(high_suffix.size());
    const std::size_t at = name.rfind(rung_infix);
    if (at == std::string_view::npos || at == 0) return false;
    return parse_duration(name.substr(at + rung_infix.size())).has_value();
}

bool looks_like_shared_rung(std::string_view name) {
    if (name.ends_with(high_suffix)) name.remove_suffix(high_suffix.size());
    if (!name.starts_with(shared_prefix)) return false;
    name.remove_prefix(shared_prefix.size());
    const std::size_t dot = name.find('.');  // a ladder's name has none
    return dot != std::string_view::npos && dot > 0 && parse_duration(name.substr(dot + 1)).has_value();
}

bool is_glob(std::string_view pattern) {
    return pattern.find_first_of("*?") != std::string_view::npos;
}

// Walks both once and goes back to the last star only: linear for practical patterns, never exponential.
bool glob_matches(std::string_view glob, std::string_view name) {
    std::size_t g = 0;
    std::size_t n = 0;
    std::size_t star = std::string_view::npos;
    std::size_t resume = 0;
    while (n < name.size()) {
        if (g < glob.size() && glob[g] == '*') {
            star = g++;
            resume = n;
        } else if (g < glob.size() && (glob[g] == '?' || glob[g] == name[n])) {
            ++g;
            ++n;
        } else if (star != std::string_view::npos) {
            g = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    return glob.find_first_not_of('*', g) == std::string_view::npos;
}

std::optional<ParsedRung> parse_rung(std::string_view name, const Arguments& arguments) {
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
        return ParsedRung{*work_queue, ReturnPath::queue, delay};
    }
    if (*exchange != return_exchange_name || work_queue != nullptr || !looks_like_shared_rung(name))
        return std::nullopt;
    const std::string_view ladder = ladder_in(name);
    if (!is_named(shared_rung_name, ladder)) return std::nullopt;
    return ParsedRung{std::string{ladder}, ReturnPath::headers, delay};
}

bool is_in_use(const Policy& policy, const ParsedRung& rung) {
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
