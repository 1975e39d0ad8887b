#include "amqp/background.h"

#include <sys/resource.h>

#include <algorithm>

#include "amqp/error.h"

namespace retryd::amqp {

void provide_decode_stack() {
    rlimit limit{};
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= decode_stack_bytes) return;
    limit.rlim_cur = std::min<rlim_t>(decode_stack_bytes, limit.rlim_max);
    setrlimit(RLIMIT_STACK, &limit);
}

namespace {

void* run_and_free(void* run) {
    const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(run));
    (*owned)();
    return nullptr;
}

}  // namespace

pthread_t start_thread(std::function<void()> run) {
    auto owned = std::make_unique<std::function<void()>>(std::move(run));
    pthread_attr_t attributes{};
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, decode_stack_bytes);
    pthread_t thread{};
    const int error = pthread_create(&thread, &attributes, run_and_free, owned.get());
    pthread_attr_destroy(&attributes);
    if (error != 0) throw Error(Error::Kind::unreachable, "no thread can be started that would open a connection");
    static_cast<void>(owned.release());  // it is the thread's now
    return thread;
}

}  // namespace retryd::amqp
