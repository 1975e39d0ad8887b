#include "amqp/queue_variant.h"

#include <algorithm>

#include "core/reply_code.h"

namespace retryd::amqp {

/// What the queue has instead is in the refusal; where that was cut, one value after the other is tried.
bool QueueVariant::adapt(int code, std::string_view refusal) {
    const auto difference = parse_inequivalent(refusal);
    if (code != core::reply_code::precondition_failed || !difference) return false;
    const std::string& argument = difference->argument;
    const auto& optional = wanted_.optional_arguments;
    if (std::find(optional.begin(), optional.end(), argument) == optional.end()) return false;
    auto given = std::find_if(given_up_.begin(), given_up_.end(),
                              [&](const GivenUp& each) { return each.argument == argument; });
    const bool again = given != given_up_.end();
    const bool cut = difference->name.empty();
    if (again && (given->left_out || !cut)) return false;
    if (!again) given = given_up_.insert(given, {argument, std::string{refusal}});
    if (const auto* const older = next_older(*given, refusal)) {
        for (auto& [name, value] : spec_.arguments) {
            if (name == argument) value = older->value;
        }
        given->note = older->harmful ? explain_older(wanted_, *older, refusal) : Explanation{};
    } else {
        std::erase_if(spec_.arguments, [&](const auto& present) { return present.first == argument; });
        given->left_out = true;
        lacking_.push_back(argument);
        given->note = explain_lack(wanted_, argument, refusal);
    }
    return true;
}

Explanation QueueVariant::note() const {
    Explanation all;
    for (const GivenUp& given : given_up_) {
        if (given.note.empty()) continue;
        all = all.empty() ? given.note : Explanation{all.line() + "; " + given.note.cause, given.note.remedy};
    }
    return all;
}

std::string QueueVariant::decisive(std::string_view last) const {
    const auto difference = parse_inequivalent(last);
    const GivenUp* const before = difference ? given_up(difference->argument) : nullptr;
    return before != nullptr ? before->refusal : std::string{last};
}

/// The value that an earlier retryd declared: the one that the queue has, or, where nobody knows which that is, the
/// next one. Null where there is none.
const core::QueueSpec::Older* QueueVariant::next_older(GivenUp& given, std::string_view refusal) const {
    const auto difference = parse_inequivalent(refusal);
    const bool known = !difference->name.empty();
    while (given.tried < wanted_.older.size()) {
        const core::QueueSpec::Older& older = wanted_.older[given.tried++];
        if (older.argument != given.argument) continue;
        if (!known || difference->current == std::to_string(older.value)) return &older;
    }
    return nullptr;
}

const QueueVariant::GivenUp* QueueVariant::given_up(std::string_view argument) const {
    const auto found = std::find_if(given_up_.begin(), given_up_.end(),
                                    [&](const GivenUp& each) { return each.argument == argument; });
    return found == given_up_.end() ? nullptr : &*found;
}

}  // namespace retryd::amqp
