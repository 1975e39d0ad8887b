// The x-death that a consumer sees where an entry keeps it (`x_death: keep`): as RabbitMQ would have written it, had
// the message come straight back from its dead-letter exchange.
//
// It cannot be left to the broker. RabbitMQ 4 forgets an x-death that a client publishes, so that each round would
// begin with 1, and what expires on a rung comes home with the rung's x-death alone. RabbitMQ 3.x counts it on, but
// then drops what comes back from a rung to a queue in which it died of anything but a rejection: it takes that for a
// cycle. So the deaths travel in a `retryd-*` header, `retryd-x-death`, proven as the others are; rungs lead back to
// retryd (core/topology.h), which publishes the message to its work queue, with that list as x-death. On no hop of the
// broker's to a work queue there is an x-death that names it.
//
// The form of both is that of x-death: an array of tables, the newest death first. It has no queues of retryd's in it,
// and only what is formed as the broker forms it, for a list with anything else crashes RabbitMQ before 3.13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/value.h"

namespace retryd::core {

/// Of more than that the oldest are left out: 3.x hands on whatever a producer has written.
inline constexpr std::size_t most_kept_deaths = 32;

/// How many deaths in that queue x-death tells that `kept`, with which retryd sent the message home, does not. Brokers
/// that count on what a client has published, and those that begin anew, tell the same by different numbers. 0: x-death
/// is as it was sent, so the message has died nowhere since.
std::int64_t deaths_since(const Table& headers, const Value& kept, std::string_view work_queue);

/// What is in `kept`, and what x-death tells besides. One for many messages, so that it allocates nothing once warm.
class KeptDeaths {
  public:
    struct From {
        const Table& headers;
        const Value* kept = nullptr;  // proven; null: nothing yet
        std::string_view work_queue;
        std::string_view error_queue;
        /// What the producer published it to, where an earlier round tells; else the death does.
        std::optional<std::string_view> exchange = {};
        std::optional<std::string_view> routing_key = {};
    };

    /// `died`: the message died in its work queue, so that at least one death is counted; else it comes from a detour.
    /// What is returned is valid until the next call of merge(), and no longer than `from.headers`, `from.kept` and the
    /// other texts in `from`, which it refers to.
    const Value* merge(const From& from, bool died);

  private:
    struct Entry {
        std::string_view queue;
        std::string_view reason;
        std::int64_t count = 1;
        std::optional<std::uint64_t> time;  // of the first of them, in seconds
        std::string_view exchange;
        Array routing_keys;
        std::optional<std::string_view> original_expiration;
    };

    void add(const From& from, const Table& fields, bool broker, bool died);
    void write();

    std::vector<Entry> entries_;
    std::vector<Field> fields_;
    std::vector<Value> tables_;
    Value routing_key_;
    Value value_;
};

/// Appends x-death and what RabbitMQ writes beside it: x-first-death-queue, -reason and -exchange, and x-last-death-*
/// (which it does from 3.13 on). Nothing where `kept` is not of that form, or empty.
void add_kept_deaths(const Value& kept, std::vector<Field>& fields);

}  // namespace retryd::core
