#include "relay/unroutable.h"

namespace retryd::relay {

bool Unroutable::note(std::uint64_t address, core::SteadyTime now) {
    constexpr core::Milliseconds tried_again_after{60'000};
    constexpr std::size_t most = 10'000;  // producers choose the keys
    if (until_.size() >= most) until_.clear();
    return until_.insert_or_assign(address, now + tried_again_after).second;
}

bool Unroutable::holds(std::uint64_t address, core::SteadyTime now) const {
    const auto found = until_.find(address);
    return found != until_.end() && now < found->second;
}

}  // namespace retryd::relay
