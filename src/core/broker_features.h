// What a RabbitMQ version can do, as far as retryd's queues depend on it: the only place that compares versions.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retryd::core {

struct BrokerVersion {
    int major = 0;
    int minor = 0;
    int patch = 0;
    auto operator<=>(const BrokerVersion&) const = default;
};

/// `4.0.5`, `3.13.7-rc.1`, `4.3.6+deb`: leading numbers; nothing where there are not at least two.
std::optional<BrokerVersion> parse_version(std::string_view text);
std::string to_string(const BrokerVersion& version);

struct BrokerFeatures {
    /// Quorum queues with a message TTL and at-least-once dead-lettering: from 3.10 (its release notes).
    bool quorum_ttl = true;
    /// On 3.10 and 3.11 at-least-once dead-lettering takes the feature flag stream_queue; later ones have it always.
    bool needs_stream_queue = false;
    /// From 4.0 on a quorum queue without x-delivery-limit throws out what was given to a consumer 21 times. Before,
    /// it keeps everything, and there is no value that means so: with -1 the first return exceeds the limit and the
    /// message is thrown out (tried on 3.10.8).
    bool default_delivery_limit = true;
    /// On 4.0.0 to 4.1.4 an idle quorum queue with `x-delivery-limit: -1` writes to its Raft log every 5 s for ever and
    /// never takes a snapshot (rabbitmq-server #14202, fixed in 4.1.5 and 4.2.0; seen on 4.0.5).
    bool unlimited_queue_never_rests = false;
    /// On 4.0–4.2 a quorum queue lets messages with a priority above 4 hold back the expiry of the others
    /// (tried on 4.0.5: 9 s on a 1 s rung), so they get a rung of their own.
    bool priority_blocks_expiry = false;
    /// Before 3.10 a quorum queue's name and its vhost's together have to fit an Erlang atom; a longer one ends the
    /// connection (541, tried on 3.8.9: 251 bytes in the vhost /). This leaves room for a vhost of 54 bytes.
    std::size_t longest_quorum_name = 255;
    /// 4.0 and later speak AMQP 1.0 without a plugin, and know other addresses of queues (release notes of 4.0.1).
    bool speaks_amqp_1_0 = true;
    /// 3.x takes what a client has published as x-death for its own, and counts it on; 3.13.0 to 3.13.2 and 4.0 and
    /// later do not (release notes of 3.13.3 and 4.0.1).
    bool counts_client_deaths = false;
    /// Before 3.10 what is on its way to a consumer of a quorum queue that is cancelled arrives twice (tried on 3.8.9).
    bool clean_cancel = true;
};

BrokerFeatures features_of(const BrokerVersion& version);

/// What that version means for retryd's queues, for an operator: the consequence and, where there is one, the remedy.
struct Remark {
    bool warning = false;  // else it is only good to know
    std::string_view text;
    bool operator==(const Remark&) const = default;
};
std::vector<Remark> remarks(const BrokerVersion& version);

}  // namespace retryd::core
