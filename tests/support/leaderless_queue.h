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
        erlang("ok = ra:stop_server(quorum_queues, " + member_ + ").");
    }
    ~LeaderlessQueue() {
        if (stopped_) end();
    }
    LeaderlessQueue(const LeaderlessQueue&) = delete;
    LeaderlessQueue& operator=(const LeaderlessQueue&) = delete;

    void end() {
        erlang("ok = ra:restart_server(quorum_queues, " + member_ + ").");
        stopped_ = false;
    }

  private:
    std::string member_;
    bool stopped_ = true;
};

}  // namespace retryd::test
