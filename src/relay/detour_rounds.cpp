#include "relay/detour_rounds.h"

#include "core/names.h"

namespace retryd::relay {
namespace {

using core::Milliseconds;

/// No more than so many messages a second shall come back from detours and find their target still in trouble.
constexpr Milliseconds::rep messages_a_second = 500;

std::size_t index_for(Milliseconds trouble_age, std::size_t messages) {
    const auto& delays = core::detour_delays;
    const Milliseconds round{static_cast<Milliseconds::rep>(messages) * 1000 / messages_a_second};
    std::size_t index = 0;
    while (index + 1 < delays.size() && (delays[index + 1] <= trouble_age || delays[index] < round))
        ++index;
    return index;
}

}  // namespace

std::size_t DetourRounds::choose(Milliseconds trouble_age, core::SteadyTime now) {
    if (now - since_ >= core::detour_delays[index_for(trouble_age, messages_)]) {
        messages_ = 0;
        since_ = now;
    }
    return index_for(trouble_age, messages_);
}

}  // namespace retryd::relay
