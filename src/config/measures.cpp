// The types of values that have a unit: durations, delays, sizes.
#include <string>
#include <utility>

#include "config/scalars.h"
#include "config/size.h"
#include "config/steps.h"
#include "core/duration.h"

namespace retryd::config {
namespace {

using Complaint = std::optional<std::string>;

/// At least one unit, larger before smaller; core::parse_duration as a regular expression.
const std::string duration_pattern = "(?=[0-9])([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?";

/// The commonest slip.
bool lacks_unit(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// A duration within its bounds, or the complaint.
Complaint read_duration(const std::string& text, core::Milliseconds least, core::Milliseconds most,
                        core::Milliseconds& to) {
    const auto value = core::parse_duration(text);
    if (!value) return lacks_unit(text) ? "has no unit" : "is not a duration";
    if (*value < least) return "is too short";
    if (*value > most) return "is too long";
    to = *value;
    return std::nullopt;
}

std::string range_words(core::Milliseconds least, core::Milliseconds most, core::Milliseconds example) {
    return " from " + core::format_duration(least) + " to " + core::format_duration(most) + ", such as " +
           core::format_duration(example);
}

Scalar any_duration(std::string expected) {
    Scalar scalar;
    scalar.type = Type::duration;
    scalar.expected = std::move(expected);
    scalar.pattern = "^" + duration_pattern + "$";
    return scalar;
}

}  // namespace

Scalar duration(core::Milliseconds& target, core::Milliseconds least, core::Milliseconds most) {
    Scalar scalar = any_duration("a duration" + range_words(least, most, target));
    scalar.fallback = core::format_duration(target);
    scalar.take = [&target, least, most](const std::string& text, const Place&) {
        return read_duration(text, least, most, target);
    };
    return scalar;
}

Scalar duration(Given<core::Milliseconds>& target, core::Milliseconds least, core::Milliseconds most) {
    Scalar scalar = duration(target, least, most, target.value);
    scalar.fallback = core::format_duration(target.value);
    return scalar;
}

Scalar duration(Given<core::Milliseconds>& target, core::Milliseconds least, core::Milliseconds most,
                core::Milliseconds example) {
    Scalar scalar = any_duration("a duration" + range_words(least, most, example));
    scalar.take = [&target, least, most](const std::string& text, const Place& place) {
        Complaint complaint = read_duration(text, least, most, target.value);
        if (!complaint) target = {target.value, place, true};
        return complaint;
    };
    return scalar;
}

Scalar seconds(std::chrono::seconds& target, std::chrono::seconds least, std::chrono::seconds most) {
    Scalar scalar = any_duration("a duration in whole seconds" + range_words(least, most, target));
    scalar.fallback = core::format_duration(target);
    scalar.take = [&target, least, most](const std::string& text, const Place&) -> Complaint {
        core::Milliseconds value{};
        if (auto complaint = read_duration(text, least, most, value)) return complaint;
        if (value % std::chrono::seconds{1} != core::Milliseconds::zero()) return "is a fraction of a second";
        target = std::chrono::duration_cast<std::chrono::seconds>(value);
        return std::nullopt;
    };
    return scalar;
}

Scalar size(std::uint64_t& target) {
    Scalar scalar;
    scalar.type = Type::size;
    scalar.expected = "a size in bytes from 1B to 1024GiB, such as " + format_size(target);
    scalar.fallback = format_size(target);
    scalar.pattern = "^[0-9]+([kKMG]?B|[KMG]iB)$";
    scalar.take = [&target](const std::string& text, const Place&) -> Complaint {
        const auto value = parse_size(text);
        if (!value) return lacks_unit(text) ? "has no unit" : "is not a size";
        if (*value == 0) return "is too small";
        target = *value;
        return std::nullopt;
    };
    return scalar;
}

Scalar each_step(Given<std::vector<core::Milliseconds>>& target) {
    Scalar scalar = any_duration("a delay from 1ms to " + core::format_duration(core::longest_ttl) +
                                 ", such as 30s, or 30s x3 for three attempts");
    scalar.pattern = "^" + duration_pattern + "( +x[1-9][0-9]*)?$";
    scalar.take = [&target](const std::string& text, const Place& place) -> Complaint {
        const auto steps = parse_steps(text);
        if (!steps) return lacks_unit(text) ? "has no unit" : "is not a delay";
        if (steps->delay == core::Milliseconds::zero()) return "is too short";
        const auto times = static_cast<std::size_t>(steps->times);
        if (target.value.size() + times > static_cast<std::size_t>(longest_ladder)) {
            return "makes the ladder longer than " + std::to_string(longest_ladder) + " attempts";
        }
        if (!target.given) target.place = place;
        target.given = true;
        target.value.insert(target.value.end(), times, steps->delay);
        return std::nullopt;
    };
    return scalar;
}

}  // namespace retryd::config
