// Translates between the delivery tags that the relay knows and those of the channels.
//
// The relay knows one sequence of tags, 1, 2, 3 … without a gap; but each channel has delivery tags of its own. So
// where there are several channels, deliveries are numbered as they come. An ack of all numbers up to one (multiple)
// becomes an ack on each channel that some of them came on.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "core/message.h"

namespace retryd::amqp {

class DeliveryNumbers {
  public:
    /// A delivery as its channel knows it.
    struct Origin {
        std::size_t channel = 0;  // numbered by the caller; each source has one of its own
        core::DeliveryTag tag = 0;
        bool operator==(const Origin&) const = default;
    };
    /// Deliveries of one channel that are not settled, and their bodies.
    struct Open {
        std::size_t messages = 0;
        std::size_t bytes = 0;
        bool operator==(const Open&) const = default;
    };
    struct Ack {
        Origin origin;
        bool multiple = true;
        bool operator==(const Ack&) const = default;
    };

    /// Channels from this one on are those of sources, the others are of the error queue.
    explicit DeliveryNumbers(std::size_t first_source) : first_source_(first_source) {}

    /// Begins after deliveries of one channel whose tags were their numbers, up to `last`: these of them, in order, are
    /// not settled. To be called before the first add().
    void begin(std::size_t channel, const std::vector<core::DeliveryTag>& unsettled, core::DeliveryTag last);

    /// The number of a delivery that has come. `bytes`: of its body.
    core::DeliveryTag add(Origin origin, std::size_t bytes);

    /// That one is settled: where it came from. Nothing where it has been already, or where its channel has
    /// ended since: the broker does not know that tag any more.
    std::optional<Origin> settle(core::DeliveryTag number);

    /// Whether it came from the error queue, and is not settled.
    bool is_of_error_queue(core::DeliveryTag number) const;

    /// Stays unacked for as long as its channel lasts: no ack of many may take it in. The same answer as settle().
    std::optional<Origin> keep(core::DeliveryTag number);

    /// All up to that one are settled: of each channel the newest of them that was not yet, for an ack of all; each
    /// of them, where one that is kept is on its channel.
    std::vector<Ack> settle_up_to(core::DeliveryTag number);

    /// That channel has ended, and with it its tags.
    void forget(std::size_t channel);

    Open open(std::size_t channel) const { return channel < open_.size() ? open_[channel] : Open{}; }
    /// The bodies of all sources.
    std::size_t bytes_of_sources() const { return bytes_of_sources_; }

  private:
    struct Entry {
        Origin origin;
        std::size_t bytes = 0;
        bool open = true;
    };

    void count(const Entry& entry);
    void close(Entry& entry);
    void drop_settled();

    const std::size_t first_source_;
    std::deque<Entry> entries_;  // entries_[i] has the number first_ + i
    core::DeliveryTag first_ = 1;
    std::vector<Open> open_;   // by channel
    std::vector<bool> keeps_;  // by channel
    std::size_t bytes_of_sources_ = 0;
};

}  // namespace retryd::amqp
