#include "relay/reporter.h"

#include <algorithm>
#include <array>
#include <string>

namespace retryd::relay {
namespace {

template <std::size_t count>
std::string_view one_of(const std::array<std::string_view, count>& known, std::string_view text,
                        std::string_view otherwise) {
    const auto* found = std::find(known.begin(), known.end(), text);
    return found == known.end() ? otherwise : *found;
}

}  // namespace

std::string_view reported_reason(std::string_view death_reason) {
    constexpr std::array<std::string_view, 4> known{"rejected", "expired", "maxlen", "delivery_limit"};
    return one_of(known, death_reason, "other");
}

std::string_view reported_reason(core::ParkReason reason, std::string_view death_reason) {
    constexpr std::array<std::string_view, 4> known{"reason-rejected", "reason-expired", "reason-maxlen",
                                                    "reason-delivery_limit"};
    std::string text;
    const std::string_view full = core::reason_text(reason, death_reason, text);
    return reason == core::ParkReason::death_reason ? one_of(known, full, "reason-other") : full;
}

}  // namespace retryd::relay
