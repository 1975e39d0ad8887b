// The threads for held messages: one sends them home, and two ask RabbitMQ's management API, whose answer may take its
// time. None of them delays the others, or the relay. They share HeldQueues.
#pragma once

#include <memory>
#include <optional>

#include "daemon/held_queues.h"
#include "daemon/side_thread.h"

namespace retryd::daemon {

/// Asks for the counters of work queues that may have an outage.
class CounterPoller {
  public:
    /// The thread runs from here on.
    explicit CounterPoller(std::shared_ptr<HeldQueues> held);

    void follow(const std::optional<BrokerTarget>& target) { state_->follow(target); }

  private:
    std::shared_ptr<SideThreadState> state_ = std::make_shared<SideThreadState>();
    SideThread thread_;
};

/// Looks for queues of held messages that an earlier run has left: the management API knows all queues.
class HeldSearch {
  public:
    /// The thread runs from here on.
    explicit HeldSearch(std::shared_ptr<HeldQueues> held);

    void follow(const std::optional<BrokerTarget>& target) { state_->follow(target); }

  private:
    std::shared_ptr<SideThreadState> state_ = std::make_shared<SideThreadState>();
    SideThread thread_;
};

/// Sends held messages home, over connections of its own.
///
/// It knows these queues from the configuration, from what is held now, and from those that search for them
/// (HeldSearch, Session::look_for_held), so it also finds what an earlier run held although the entry no longer does.
/// It touches a queue only once it knows whose it is, from a declaration with all of retryd's arguments, which the
/// broker refuses if the queue has others.
class ReleaseLoop {
  public:
    /// The thread starts here. The destructor waits until what was sent is confirmed and acked.
    explicit ReleaseLoop(std::shared_ptr<HeldQueues> held);

    void follow(const std::optional<BrokerTarget>& target) { state_->follow(target); }

  private:
    class Worker;

    std::shared_ptr<SideThreadState> state_ = std::make_shared<SideThreadState>();
    SideThread thread_;
};

/// All three.
struct HeldThreads {
    explicit HeldThreads(const std::shared_ptr<HeldQueues>& held) : search(held), counters(held), release(held) {}

    void follow(const std::optional<BrokerTarget>& target) {
        release.follow(target);
        counters.follow(target);
        search.follow(target);
    }

    HeldSearch search;
    CounterPoller counters;
    ReleaseLoop release;  // destroyed first
};

}  // namespace retryd::daemon
