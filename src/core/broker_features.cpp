#include "core/broker_features.h"

#include <array>
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

/// From `since` on, and before `until`.
struct Gate {
    BrokerVersion since;
    BrokerVersion until;
    Remark remark;
};

constexpr BrokerVersion first_release{0, 0, 0};
constexpr BrokerVersion open_end{1'000'000, 0, 0};

constexpr BrokerVersion quorum_ttl{3, 10, 0};             // release notes of 3.10.0
constexpr BrokerVersion stream_queue_required{3, 12, 0};  // release notes of 3.12.0
constexpr BrokerVersion default_delivery_limit{4, 0, 0};  // release notes of 4.0.1; tried on 4.0.5
constexpr BrokerVersion native_amqp_1_0{4, 0, 0};         // release notes of 4.0.1
constexpr BrokerVersion unlimited_queue_rests{4, 1, 5};   // release notes of 4.1.5
constexpr BrokerVersion priority_expiry_mended{4, 3, 0};  // tried on 4.0.5 and 4.3.6
constexpr BrokerVersion no_client_deaths{3, 13, 0};       // release notes of 3.13.0
constexpr BrokerVersion client_deaths_again{3, 13, 3};    // release notes of 3.13.3
constexpr BrokerVersion native_delayed_retry{4, 3, 0};    // release notes of 4.3.0

constexpr std::array gates{
    Gate{first_release,
         quorum_ttl,
         {true,
          "before 3.10 quorum queues have no TTL: every rung is a classic queue, whatever queue_type says, and the way "
          "back is the broker's at-most-once. A message can be lost there if its work queue is deleted or full, or "
          "its node stops; an upgrade of the broker fixes it"}},
    Gate{quorum_ttl,
         stream_queue_required,
         {false,
          "on 3.10 and 3.11 rungs keep a message until its work queue has taken it only with the feature flag "
          "stream_queue; AMQP does not show it: rabbitmqctl enable_feature_flag stream_queue"}},
    Gate{default_delivery_limit,
         open_end,
         {false,
          "from 4.0 on a quorum queue deletes what was looked at 21 times: parking queues and catch-all are declared "
          "with x-delivery-limit 1000000"}},
    Gate{default_delivery_limit,
         priority_expiry_mended,
         {false,
          "on 4.0 to 4.2 messages with a priority above 4 would hold back the others on a quorum rung: they get "
          "rungs of their own, whose names end in .high, when the first one comes"}},
    Gate{native_delayed_retry,
         open_end,
         {false,
          "from 4.3 on quorum queues can delay by themselves what a consumer requeues (delayed-retry); what it rejects "
          "without requeue still comes to retryd"}},
};

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
    features.quorum_ttl = version >= quorum_ttl;
    features.needs_stream_queue = version >= quorum_ttl && version < stream_queue_required;
    features.longest_quorum_name = version >= quorum_ttl ? 255 : 200;
    features.clean_cancel = version >= quorum_ttl;
    features.counts_client_deaths =
        version < no_client_deaths || (version >= client_deaths_again && version < default_delivery_limit);
    features.speaks_amqp_1_0 = version >= native_amqp_1_0;
    features.default_delivery_limit = version >= default_delivery_limit;
    features.unlimited_queue_never_rests = version >= default_delivery_limit && version < unlimited_queue_rests;
    features.priority_blocks_expiry = version >= default_delivery_limit && version < priority_expiry_mended;
    return features;
}

std::vector<Remark> remarks(const BrokerVersion& version) {
    std::vector<Remark> found;
    for (const Gate& gate : gates) {
        if (version >= gate.since && version < gate.until) found.push_back(gate.remark);
    }
    return found;
}

}  // namespace retryd::core
