#include "support/broker_queue.h"

#include "support/environment.h"

namespace retryd::test {

std::string erlang_lookup(const std::string& queue) {
    return "rabbit_amqqueue:lookup(rabbit_misc:r(<<\"" + broker_address().vhost + "\">>, queue, <<\"" + queue +
           "\">>))";
}

bool takes_messages(const std::string& queue) {
    return erlang("case " + erlang_lookup(queue) +
                  " of {ok, Q} -> amqqueue:get_type(Q) =/= rabbit_quorum_queue orelse"
                  " element(1, ra:members(amqqueue:get_pid(Q), 1000)) =:= ok; _ -> false end.") == "true";
}

}  // namespace retryd::test
