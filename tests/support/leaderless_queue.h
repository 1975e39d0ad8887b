// A quorum queue without a leader.
#pragma once

#include <string>

#include "support/broker_queue.h"
#include "support/environment.h"

namespace retryd::test {

/// Its only member is stopped as long as this lives, on a single node. The broker answers at once that such a queue is
/// empty.
class LeaderlessQueue {
  public:
    explicit LeaderlessQueue(const std::string& queue)
        : member_("begin {ok, Q} = " + erlang_lookup(queue) + ", amqqueue:get_pid(Q) end") {
        erlang(told("stop_server"));
    }
    ~LeaderlessQueue() {
        if (stopped_) end();
    }
    LeaderlessQueue(const LeaderlessQueue&) = delete;
    LeaderlessQueue& operator=(const LeaderlessQueue&) = delete;

    void end() {
        erlang(told("restart_server"));
        stopped_ = false;
    }

  private:
    /// RabbitMQ 3.8 has one system of Raft, without a name; its restart_server/2 takes something else.
    std::string told(const std::string& function) const {
        return "begin M = " + member_ + ", {module, ra} = code:ensure_loaded(ra), " +
               "ok = case erlang:function_exported(ra, stop_server, 2) of true -> ra:" + function +
               "(quorum_queues, M); false -> ra:" + function + "(M) end end.";
    }

    std::string member_;
    bool stopped_ = true;
};

}  // namespace retryd::test
