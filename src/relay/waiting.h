// Deliveries that cannot be published yet. Each waits in memory for a target that is expected to take messages soon, or
// for an answer of the broker. It waits for a short while only, so that it does not delay the messages behind it for
// long; after that the relay publishes it to a detour.
//
// All of them stay unacked, so the broker still has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/message.h"
#include "core/time.h"

namespace retryd::relay {

/// What a message waits for: a while each, and not one after the other for ever.
struct Awaited {
    std::optional<core::SteadyTime> since;  // while any message waits
    core::SteadyTime not_before{};          // until then none waits: it took too long just now
    std::uint64_t seen = 0;                 // the last look at what waits that found one
};

/// In their order. `process` is always a function that takes a delivery and returns whether it is done; one that is not
/// done has called may_wait() or wait_for() if it waits for something in particular.
class WaitingDeliveries {
  public:
    /// Processes a delivery that has just come, and keeps a copy of it if it is not done.
    template <class Process>
    void process_new(const core::Delivery& delivery, const Process& process) {
        waits_for_ = nullptr;
        if (!process(delivery)) add(delivery, waits_for_);
    }
    /// Keeps it for the next process_each().
    void add(const core::Delivery& delivery) { add(delivery, nullptr); }

    /// Processes all, in order.
    template <class Process>
    void process_each(const Process& process) {
        ++look_;
        for (Waiting& waiting : deliveries_)
            again(waiting, process);
        erase_done();
    }

    /// Processes those that wait for that, until one of them still does. False when none does any more.
    ///
    /// Many confirms come while many deliveries wait: to process all for each of them would take seconds.
    template <class Process>
    bool process_each(const Awaited& awaited, const Process& process) {
        const auto waits = [&](const Waiting& waiting) { return waiting.waits_for == &awaited; };
        bool any_done = false;
        auto at = std::find_if(deliveries_.begin(), deliveries_.end(), waits);
        while (at != deliveries_.end()) {
            again(*at, process);
            if (waits(*at)) break;
            any_done = any_done || at->done;
            at = std::find_if(at, deliveries_.end(), waits);
        }
        const bool still = at != deliveries_.end();
        if (any_done) erase_done();
        return still;
    }
    /// None waits for that any more.
    void forget(Awaited& awaited);
    /// After a process_each() that has processed all: what none of them waits for is not awaited.
    void forget_what_none_waits_for();

    /// Whether the delivery that is being processed may wait for a target or an answer that will be there soon. Each
    /// would wait its time, and those behind it with it: so when it took too long, none waits for a while. `most_open`:
    /// deliveries that were open at once, as much of the prefetch as has been seen.
    bool may_wait(const std::shared_ptr<Awaited>& awaited, std::size_t most_open, core::SteadyTime now);
    /// It waits for that, however long it takes.
    void wait_for(const std::shared_ptr<Awaited>& awaited, core::SteadyTime now);

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

    void add(const core::Delivery& delivery, const Awaited* waits_for);
    template <class Process>
    void again(Waiting& waiting, const Process& process) {
        waits_for_ = nullptr;
        waiting.done = process(waiting.delivery.get());
        waiting.waits_for = waiting.done ? nullptr : waits_for_;
        if (!waiting.done) return;
        bytes_ -= waiting.delivery.bytes();
        --still_waiting_;
    }
    void erase_done() {
        std::erase_if(deliveries_, [](const Waiting& waiting) { return waiting.done; });
    }
    bool too_many_wait(std::size_t most_open, core::SteadyTime now) const;

    std::deque<Waiting> deliveries_;
    std::size_t still_waiting_ = 0;  // of those; while they are processed, some are done
    std::size_t bytes_ = 0;
    std::vector<std::shared_ptr<Awaited>> awaited_;  // what any of them waits for
    const Awaited* waits_for_ = nullptr;             // what the one being processed waits for
    core::SteadyTime few_may_wait_until_{};          // some waited in vain just now: too_many_wait()
    std::uint64_t look_ = 1;                         // so often all have been looked through
};

}  // namespace retryd::relay
