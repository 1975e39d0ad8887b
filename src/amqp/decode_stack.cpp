#include "amqp/decode_stack.h"

#include <sys/resource.h>

#include <algorithm>

namespace retryd::amqp {

void provide_decode_stack() {
    rlimit limit{};
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= decode_stack_bytes) return;
    limit.rlim_cur = std::min<rlim_t>(decode_stack_bytes, limit.rlim_max);
    setrlimit(RLIMIT_STACK, &limit);
}

}  // namespace retryd::amqp
