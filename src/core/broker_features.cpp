#include "core/broker_features.h"

#include <charconv>

namespace retryd::core {
namespace {

/// A number off the front, and a dot behind it where there is one.
std::optional<int> take_part(std::string_view& text) {
    int number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    if (text.starts_with('.')) text.remove_prefix(1);
    return number;
}

}  // namespace

std::optional<BrokerVersion> parse_version(std::string_view text) {
    const auto major = take_part(text);
    if (!major) return std::nullopt;
    const auto minor = take_part(text);
    if (!minor) return std::nullopt;
    return BrokerVersion{*major, *minor, take_part(text).value_or(0)};
}

std::string to_string(const BrokerVersion& version) {
    return std::to_string(version.major) + '.' + std::to_string(version.minor) + '.' + std::to_string(version.patch);
}

BrokerFeatures features_of(const BrokerVersion& version) {
    BrokerFeatures features;
    features.quorum_ttl = version >= BrokerVersion{3, 10, 0};
    features.unlimited_delivery_limit = version >= BrokerVersion{4, 0, 0};
    features.priority_blocks_expiry = version >= BrokerVersion{4, 0, 0} && version < BrokerVersion{4, 3, 0};
    return features;
}

}  // namespace retryd::core
