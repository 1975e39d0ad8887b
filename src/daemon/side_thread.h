// A thread that asks a broker and may block for as long as that does not answer: how it gets its target, and how it
// ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "config/settings.h"
#include "core/time.h"

namespace retryd::daemon {

/// The broker to ask, and with which settings.
struct BrokerTarget {
    std::shared_ptr<const config::Settings> settings;
    config::Endpoint endpoint;
    bool operator==(const BrokerTarget&) const = default;
};

/// State shared between the thread and its owner. Both own it, since the thread may be left behind. Subclasses add
/// more, under the same mutex.
struct SideThreadState {
    SideThreadState() = default;
    virtual ~SideThreadState() = default;
    SideThreadState(const SideThreadState&) = delete;
    SideThreadState& operator=(const SideThreadState&) = delete;

    std::mutex mutex;
    std::condition_variable changed;
    bool stop_requested = false;
    std::optional<BrokerTarget> target;

    /// The same target again changes nothing; nothing: there is nobody to ask.
    void follow(const std::optional<BrokerTarget>& next);

    // ── for the thread ──

    bool is_current(const BrokerTarget& followed);
    /// Waits until there is a target; nothing if the thread has to end.
    std::optional<BrokerTarget> await_target();
    /// Waits for that time, or until the target changes or the thread has to end.
    void pause(core::Milliseconds time, const BrokerTarget& followed);

  private:
    friend class SideThread;
    bool ended_ = false;
};

class SideThread {
  public:
    /// `work` runs in the thread. It uses only what it owns and ends soon after `stop_requested`, unless it hangs; then
    /// it is left behind after `patience`.
    SideThread(std::shared_ptr<SideThreadState> state, std::function<void()> work,
               std::chrono::milliseconds patience = std::chrono::seconds{1});
    ~SideThread();
    SideThread(const SideThread&) = delete;
    SideThread& operator=(const SideThread&) = delete;

  private:
    std::shared_ptr<SideThreadState> state_;
    std::chrono::milliseconds patience_;
    std::thread thread_;
};

}  // namespace retryd::daemon
