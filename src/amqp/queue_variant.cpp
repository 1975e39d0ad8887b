#include "amqp/queue_variant.h"

#include <algorithm>

#include "core/reply_code.h"

namespace retryd::amqp {

bool QueueVariant::adapt(int code, std::string_view refusal) {
    const auto difference = parse_inequivalent(refusal);
    if (code != core::reply_code::precondition_failed || !difference) return false;
    const std::string& argument = difference->argument;
    const auto& optional = wanted_.optional_arguments;
    if (std::find(optional.begin(), optional.end(), argument) == optional.end() || given_up(argument)) return false;
    given_up_.push_back({argument, std::string{refusal}});
    Explanation told;
    if (is_older(refusal)) {
        for (auto& [name, value] : spec_.arguments) {
            if (name == argument) value = wanted_.older->value;
        }
        told = explain_older(wanted_, refusal);
    } else {
        std::erase_if(spec_.arguments, [&](const auto& present) { return present.first == argument; });
        lacking_.push_back(argument);
        told = explain_lack(wanted_, argument, refusal);
    }
    if (!told.empty()) note_ = note_.empty() ? told : Explanation{note_.line() + "; " + told.cause, told.remedy};
    return true;
}

std::string QueueVariant::decisive(std::string_view last) const {
    const auto difference = parse_inequivalent(last);
    const GivenUp* const before = difference ? given_up(difference->argument) : nullptr;
    return before != nullptr ? before->refusal : std::string{last};
}

/// Whether the queue that is there has the argument as an earlier retryd declared it.
bool QueueVariant::is_older(std::string_view refusal) const {
    const auto difference = parse_inequivalent(refusal);
    return wanted_.older && difference && difference->argument == wanted_.older->argument &&
           difference->current == std::to_string(wanted_.older->value);
}

const QueueVariant::GivenUp* QueueVariant::given_up(std::string_view argument) const {
    const auto found = std::find_if(given_up_.begin(), given_up_.end(),
                                    [&](const GivenUp& each) { return each.argument == argument; });
    return found == given_up_.end() ? nullptr : &*found;
}

}  // namespace retryd::amqp
