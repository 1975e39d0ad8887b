// The ledger of a run: for every message how often it has to fail, and where it was seen.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "support/message.h"

namespace retryd::stress {

/// The end of a run in numbers.
struct Summary {
    std::size_t messages = 0;
    std::size_t done = 0;                        // acked by the consumer of their work queue
    std::map<std::string, std::size_t> parked;   // copies, by reason
    std::size_t lost = 0;                        // seen nowhere
    std::size_t left = 0;                        // in none of these places at the end, but in a queue
    std::size_t duplicates = 0;                  // copies beyond the first, whoever made them
    std::size_t resent = 0;                      // published again by the producer, which got no confirm
    std::map<std::string, std::size_t> lost_of;  // by work queue
    std::vector<std::string> lost_ones;          // where and when each of them was last seen
    std::vector<std::string> wrong;              // in a queue, or for a reason, that cannot be right
};

/// 17:03:59, UTC as in retryd's log.
std::string clock_time(std::chrono::system_clock::time_point time);

class Ledger {
  public:
    /// `steps`: of every ladder of the run.
    explicit Ledger(int steps) : steps_(steps) {}

    /// A new message of that work queue, which is to fail so many times.
    std::size_t issue(const std::string& queue, int failures);
    int failures_of(std::size_t id) const;
    test::Message message(std::size_t id) const;

    /// It is published once more: whether the first one arrived is not known.
    void resent(std::size_t id);
    /// Its consumer has rejected it, for the n-th time.
    void rejected(std::size_t id, std::int64_t attempt);
    /// Its consumer has acked it.
    void done(const std::string& queue, const test::Received& message);
    /// It was in the parking queue of that work queue; of none: in the catch-all.
    void parked(const std::string& queue, const test::Received& message);
    /// From now on a parking queue may have refused what retryd published to it: then the catch-all takes it.
    void parking_may_be_refused();
    /// It is still in that queue, or on that rung.
    void left(const std::string& place, const test::Received& message);

    /// Whether each of these has been acked or was found parked.
    bool settled(const std::vector<std::size_t>& ids) const;
    std::size_t done_count() const;
    Summary summary() const;

    /// The number that a message's body begins with.
    static std::size_t id_of(const test::Message& message);

  private:
    struct Line {
        std::string queue;
        int failures = 0;
        int done = 0;
        int parked = 0;
        int left = 0;
        bool resent = false;
        std::int64_t rejections = 0;
        std::chrono::system_clock::time_point rejected_at{};
    };
    Line* find(const std::string& place, const test::Received& message);
    void judge_parked(const Line& line, const std::string& queue, const test::Received& message);

    int steps_;
    mutable std::mutex mutex_;
    bool parking_may_be_refused_ = false;
    std::vector<Line> lines_;
    std::size_t done_count_ = 0;
    std::map<std::string, std::size_t> reasons_;
    std::vector<std::string> wrong_;
};

}  // namespace retryd::stress
