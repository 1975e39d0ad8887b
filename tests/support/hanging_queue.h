// A queue that answers nothing.
#pragma once

#include <string>

#include "support/broker_queue.h"
#include "support/environment.h"

namespace retryd::test {

/// The process of the queue, or of its leader on a single node, does nothing as long as this lives: no declare of it is
/// answered, a passive one neither, and nothing that is published to it confirmed. So it is with a quorum queue
/// without a leader. The queue may still be about to be declared.
class HangingQueue {
  public:
    explicit HangingQueue(const std::string& queue)
        : process_("begin {ok, Q} = " + erlang_lookup(queue) + ", amqqueue:get_pid(Q) end") {
        await([&] { return takes_messages(queue); });
        erlang("sys:suspend(" + process_ + ", 60000).");  // a busy node takes longer than the usual 5 s
    }
    ~HangingQueue() {
        if (hangs_) end();
    }
    HangingQueue(const HangingQueue&) = delete;
    HangingQueue& operator=(const HangingQueue&) = delete;

    void end() {
        erlang("sys:resume(" + process_ + ", 60000).");
        hangs_ = false;
    }

  private:
    std::string process_;
    bool hangs_ = true;
};

}  // namespace retryd::test
