// What has to wait: deliveries that cannot be published yet, deliveries that go back to the error queue after a pause,
// and addresses that led to no queue and are not tried again for a while.
//
// All of these deliveries stay unacked, so the broker still has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/message.h"
#include "core/time.h"

namespace retryd::relay {

struct Awaited;  // relay/routes.h

/// Deliveries that cannot be published yet, in their order: the broker or the socket takes nothing, or what they need
/// is being declared.
class WaitingDeliveries {
  public:
    /// What became of one: it is done, or still waits, for that; null: for nothing in particular.
    struct Processed {
        bool done = false;
        const Awaited* waits_for = nullptr;
    };

    /// Copies it.
    void add(const core::Delivery& delivery, const Awaited* waits_for);

    /// Calls `process` with each, in order, and keeps those that are not done.
    template <class Process>
    void process_each(const Process& process) {
        for (Waiting& waiting : deliveries_)
            take(waiting, process(waiting.delivery.get()));
        erase_done();
    }

    /// The same for those that wait for that, until one of them still does. False when none does any more.
    ///
    /// Many confirms come while many deliveries wait: to process all for each of them would take seconds.
    template <class Process>
    bool process_each(const Awaited& awaited, const Process& process) {
        const auto waits = [&](const Waiting& waiting) { return waiting.waits_for == &awaited; };
        bool any_done = false;
        auto at = std::find_if(deliveries_.begin(), deliveries_.end(), waits);
        while (at != deliveries_.end()) {
            take(*at, process(at->delivery.get()));
            if (waits(*at)) break;
            any_done = any_done || at->done;
            at = std::find_if(at, deliveries_.end(), waits);
        }
        const bool still = at != deliveries_.end();
        if (any_done) erase_done();
        return still;
    }

    void clear();
    bool empty() const { return deliveries_.empty(); }
    std::size_t size() const { return still_waiting_; }
    std::size_t bytes() const { return bytes_; }  // headers included

  private:
    struct Waiting {
        core::OwnedDelivery delivery;
        const Awaited* waits_for = nullptr;
        bool done = false;
    };

    void take(Waiting& waiting, const Processed& processed) {
        waiting.waits_for = processed.done ? nullptr : processed.waits_for;
        waiting.done = processed.done;
        if (!processed.done) return;
        bytes_ -= waiting.delivery.bytes();
        --still_waiting_;
    }
    void erase_done() {
        std::erase_if(deliveries_, [](const Waiting& waiting) { return waiting.done; });
    }

    std::deque<Waiting> deliveries_;
    std::size_t still_waiting_ = 0;  // of those; while they are processed, some are done
    std::size_t bytes_ = 0;
};

/// Deliveries to be requeued, each when its pause is over.
class DelayedRequeues {
  public:
    void add(core::SteadyTime due, core::DeliveryTag tag);
    /// One that is due, taken out; nothing when there is none.
    std::optional<core::DeliveryTag> take_due(core::SteadyTime now);
    /// When the next one is due.
    std::optional<core::SteadyTime> next() const;
    std::size_t size() const { return heap_.size(); }

  private:
    struct Requeue {
        core::SteadyTime due;
        core::DeliveryTag tag;
        bool operator>(const Requeue& other) const { return due > other.due; }
    };
    std::vector<Requeue> heap_;  // the next due first
};

/// Where somebody else's exchange has led to no queue: not tried again for a minute. By hash_of_address(): with the
/// producer's routing key one exchange has many addresses, of which some may be fine.
class UnroutableAddresses {
  public:
    /// True when this is news.
    bool add(std::uint64_t address, core::SteadyTime now);
    bool contains(std::uint64_t address, core::SteadyTime now) const;
    /// It took a message. True when it was known as unroutable.
    bool remove(std::uint64_t address) { return until_.erase(address) > 0; }

  private:
    std::unordered_map<std::uint64_t, core::SteadyTime> until_;
};

}  // namespace retryd::relay
