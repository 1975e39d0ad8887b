// What DepthWatch and its thread share. Both own it: the thread may outlive the other.
#pragma once

#include <condition_variable>
#include <mutex>

#include "daemon/depth_watch.h"

namespace retryd::daemon {

struct DepthState {
    struct Counted {
        std::uint64_t messages = 0;
        core::SteadyTime at{};
    };

    std::shared_ptr<const telemetry::Tally> tally;

    std::mutex mutex;  // of all that follows
    std::condition_variable changed;
    bool stop = false;
    bool ended = false;
    std::optional<DepthWatch::Subject> subject;
    int socket = -1;  // of the connection, while there is one
    Inventory inventory;
    std::map<std::string, Counted> counted;
    std::optional<core::WallTime> last;
    std::string fault;

    /// Whether that is still what to count.
    bool goes_on(const DepthWatch::Subject& with) {
        const std::lock_guard lock(mutex);
        return !stop && subject == with;
    }

    /// While it lives, the end of the watch cuts the connection.
    class Cuttable {
      public:
        Cuttable(DepthState& state, int fd) : state_(state) { set(fd); }
        ~Cuttable() { set(-1); }
        Cuttable(const Cuttable&) = delete;
        Cuttable& operator=(const Cuttable&) = delete;

      private:
        void set(int fd) {
            const std::lock_guard lock(state_.mutex);
            state_.socket = fd;
        }
        DepthState& state_;
    };
};

}  // namespace retryd::daemon
