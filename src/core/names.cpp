#include "core/names.h"

#include <algorithm>

#include "core/duration.h"
#include "core/fingerprint.h"

namespace retryd::core {

namespace {

constexpr std::string_view rung_infix = ".retry.";
constexpr std::string_view high_suffix = ".high";
constexpr std::string_view x_death_suffix = ".x-death";
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

bool has_rung(const Ladder& ladder, const ParsedRung& rung) {
    const auto delays = distinct_delays(ladder);
    return ladder.x_death == rung.x_death && std::find(delays.begin(), delays.end(), rung.delay) != delays.end();
}

void add_kind(std::string& name, XDeath deaths, bool high_priority) {
    if (deaths == XDeath::keep) name.append(x_death_suffix);
    if (high_priority) name.append(high_suffix);
}

bool take_off(std::string_view& name, std::string_view suffix) {
    if (!name.ends_with(suffix)) return false;
    name.remove_suffix(suffix.size());
    return true;
}

/// A rung's name up to its delay.
std::string_view without_kind(std::string_view name) {
    take_off(name, high_suffix);
    take_off(name, x_death_suffix);
    return name;
}

}  // namespace

std::string rung_name(std::string_view work_queue, Milliseconds delay, bool high_priority, XDeath deaths) {
    std::string after{rung_infix};
    after.append(format_duration(delay));
    add_kind(after, deaths, high_priority);
    return fit("", work_queue, after);
}

std::string held_name(std::string_view work_queue, std::size_t longest) {
    return fit("", work_queue, held_suffix, longest);
}

std::string shared_rung_name(std::string_view ladder, Milliseconds delay, bool high_priority, XDeath deaths) {
    std::string name{shared_prefix};
    name.append(ladder).append(".").append(format_duration(delay));
    add_kind(name, deaths, high_priority);
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
    name = without_kind(name);
    const std::size_t at = name.rfind(rung_infix);
    if (at == std::string_view::npos || at == 0) return false;
    return parse_duration(name.substr(at + rung_infix.size())).has_value();
}

bool looks_like_shared_rung(std::string_view name) {
    if (!name.starts_with(shared_prefix)) return false;
    name = without_kind(name);
    if (name.size() < shared_prefix.size()) return false;
    name.remove_prefix(shared_prefix.size());
    const std::size_t dot = name.find('.');  // a ladder's name has none
    return dot != std::string_view::npos && dot > 0 && parse_duration(name.substr(dot + 1)).has_value();
}

bool looks_like_x_death_rung(std::string_view name) {
    std::string_view rest = name;
    take_off(rest, high_suffix);
    return rest.ends_with(x_death_suffix) && (looks_like_rung(name) || looks_like_shared_rung(name));
}

std::optional<RungName> read_x_death_rung(std::string_view name, std::string_view work_queue) {
    RungName rung;
    std::string_view rest = name;
    rung.high_priority = take_off(rest, high_suffix);
    if (!take_off(rest, x_death_suffix)) return std::nullopt;
    const bool shared = looks_like_shared_rung(name);
    const std::size_t dot = shared ? rest.find('.', shared_prefix.size()) : rest.rfind(rung_infix);
    if (dot == std::string_view::npos) return std::nullopt;
    const auto delay = parse_duration(rest.substr(dot + (shared ? 1 : rung_infix.size())));
    if (!delay) return std::nullopt;
    rung.delay = *delay;
    if (!shared && name != rung_name(work_queue, *delay, rung.high_priority, XDeath::keep)) return std::nullopt;
    return rung;
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
    const std::string* work_queue = text_in(arguments, "x-dead-letter-routing-key");
    const bool shared = work_queue == nullptr;
    // What leads neither home nor to the return exchange leads back to retryd, by whatever name the error exchange has.
    const XDeath deaths = *exchange == (shared ? return_exchange_name : "") ? XDeath::remove : XDeath::keep;
    const auto is_named = [&](const auto& naming, std::string_view owner) {
        return name == naming(owner, delay, false, deaths) || name == naming(owner, delay, true, deaths);
    };
    if (deaths == XDeath::keep && (exchange->empty() || *exchange == return_exchange_name)) return std::nullopt;
    if (!shared) {
        if (!is_named(rung_name, *work_queue)) return std::nullopt;
        return ParsedRung{*work_queue, ReturnPath::queue, delay, deaths};
    }
    if (!looks_like_shared_rung(name)) return std::nullopt;
    const std::string_view ladder = ladder_in(name);
    if (!is_named(shared_rung_name, ladder)) return std::nullopt;
    return ParsedRung{std::string{ladder}, ReturnPath::headers, delay, deaths};
}

bool is_in_use(const Policy& policy, const ParsedRung& rung) {
    if (rung.return_path == ReturnPath::queue) {
        const Entry* entry = match(policy, rung.serves);
        return entry != nullptr && entry->ladder.return_path == ReturnPath::queue && has_rung(entry->ladder, rung);
    }
    return std::any_of(policy.entries.begin(), policy.entries.end(), [&](const Entry& entry) {
        return entry.ladder.return_path == ReturnPath::headers && entry.ladder.name == rung.serves &&
               has_rung(entry.ladder, rung);
    });
}

}  // namespace retryd::core
