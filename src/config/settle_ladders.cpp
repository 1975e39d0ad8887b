#include "config/settle_ladders.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "config/formula.h"
#include "core/duration.h"

namespace retryd::config {
namespace {

/// A key of the formula, if it is given.
struct GivenKey {
    const Place* place = nullptr;
    explicit operator bool() const { return place != nullptr; }
};

GivenKey any_formula_key(const WrittenFormula& formula) {
    if (formula.first.given) return {&formula.first.place};
    if (formula.factor.given) return {&formula.factor.place};
    if (formula.max.given) return {&formula.max.place};
    if (formula.attempts.given) return {&formula.attempts.place};
    return {};
}

void check_name(const WrittenLadder& ladder, Problems& problems) {
    constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    if (ladder.name.size() <= 64 && ladder.name.find_first_not_of(allowed) == std::string::npos) return;
    add(problems, ladder.place, "this is no name for a ladder; expected 1 to 64 letters, digits, _ and -");
}

/// Whether the ladder, or a key that makes its delays, has been told already: nothing shall follow from it.
bool told(const WrittenLadder& ladder, const Problems& problems) {
    const std::string& path = ladder.place.path;
    return std::any_of(problems.begin(), problems.end(), [&](const Problem& problem) {
        if (!problem.key.starts_with(path)) return false;  // soon, where thousands are wrong
        if (problem.key == path || problem.key.starts_with(path + ".delays")) return true;
        return problem.key == path + ".first" || problem.key == path + ".factor" || problem.key == path + ".max" ||
               problem.key == path + ".attempts";
    });
}

/// The formula's other half is missing.
void refuse_half(const WrittenLadder& ladder, const Place& given, Problems& problems) {
    const auto refuse = [&](const std::string& key, const std::string& expected) {
        add(problems, {given.at, ladder.place.path + "." + key},
            "is missing besides " + given.path + "; expected " + expected);
    };
    if (!ladder.formula.first.given) refuse("first", "the wait after the first failure, such as 1s");
    if (!ladder.formula.attempts.given) refuse("attempts", "how many waits there are, such as 10");
}

std::vector<core::Milliseconds> by_formula(const WrittenFormula& formula, Problems& problems) {
    if (formula.max.given && formula.max.value < formula.first.value) {
        add(problems, formula.max.place,
            "is shorter than first; expected at least " + core::format_duration(formula.first.value));
        return {};
    }
    const auto max = formula.max.given ? std::optional{formula.max.value} : std::nullopt;
    auto delays = delays_of({formula.first.value, formula.factor.value, max, formula.attempts.value});
    if (const auto* too_long = std::get_if<TooLong>(&delays)) {
        add(problems, formula.attempts.place,
            "attempt " + std::to_string(too_long->attempt) + " would wait longer than " +
                core::format_duration(core::longest_ttl) +
                ", and RabbitMQ takes no longer delay; expected a max, or fewer attempts");
        return {};
    }
    return std::get<std::vector<core::Milliseconds>>(std::move(delays));
}

std::vector<core::Milliseconds> steps_of(const WrittenLadder& ladder, Problems& problems) {
    const GivenKey formula = any_formula_key(ladder.formula);
    if (ladder.delays.given && formula) {
        const Place& delays = ladder.delays.place;
        add(problems, *formula.place,
            "is given besides " + delays.path + " on line " + std::to_string(delays.at.line) +
                "; expected either delays, or a formula of first, factor, max and attempts");
    }
    if (ladder.delays.given) return ladder.delays.value;
    if (told(ladder, problems)) return {};
    if (!formula) {
        add(problems, ladder.place,
            "has no delays; expected delays such as [5s, 30s, 2m], or a formula of first and attempts");
    } else if (ladder.formula.first.given && ladder.formula.attempts.given) {
        return by_formula(ladder.formula, problems);
    } else {
        refuse_half(ladder, *formula.place, problems);
    }
    return {};
}

}  // namespace

std::vector<core::Ladder> settle_ladders(const std::vector<WrittenLadder>& ladders, Problems& problems) {
    std::vector<core::Ladder> settled;
    for (const WrittenLadder& written : ladders) {
        core::Ladder ladder = written.ladder;
        ladder.name = written.name;
        ladder.steps = steps_of(written, problems);
        if (written.jitter.lanes.given) {
            ladder.jitter = {written.jitter.width_percent.value, written.jitter.lanes.value};
        }
        check_name(written, problems);
        settled.push_back(std::move(ladder));
    }
    return settled;
}

}  // namespace retryd::config
