// A call that blocks, such as opening a connection, in a thread of its own: the daemon's loop waits for none.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace retryd::amqp {

/// rabbitmq-c up to 0.13 decodes nested arrays and tables by recursion without a limit, and a header frame has room for
/// 26 000 levels. Debian 12's 0.11 takes 2.5 MiB of stack for them (measured on amd64); this leaves room for builds
/// that are less thrifty.
inline constexpr std::size_t decode_stack_bytes = std::size_t{16} * 1024 * 1024;

/// For headers that a hostile publisher may send: lets the main thread's stack grow that far, as far as the hard limit
/// of RLIMIT_STACK allows; it does nothing for other threads. Linux reads the limit whenever the stack grows, so it
/// works on a running process.
void provide_decode_stack();

/// With a stack that is as large. Throws Error where there is none to be had.
pthread_t start_thread(std::function<void()> run);

template <class Result>
class Background {
  public:
    /// What the call asks now and then, if it may last: false once nobody waits for it any more.
    using GoOn = std::function<bool()>;
    using Call = std::function<Result(const GoOn&)>;

    /// Begins at once. `call` uses nothing but what it owns: it may outlive whoever began it.
    explicit Background(Call call)
        : thread_(start_thread([state = state_, call = std::move(call)] { state->run(call); })) {}
    /// A thread that hangs is left behind a second after abandon(), at the latest.
    ~Background() {
        abandon();
        state_->ended_until(patience_over_) ? pthread_join(thread_, nullptr) : pthread_detach(thread_);
    }
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    /// Of several, all are told first: then they take no longer than one.
    void abandon() {
        const auto now = std::chrono::steady_clock::now();
        if (state_->abandon()) patience_over_ = now + std::chrono::seconds{1};
    }

    bool done() const { return state_->ended_until({}); }
    bool done_within(std::chrono::milliseconds time) const {
        return state_->ended_until(std::chrono::steady_clock::now() + time);
    }
    /// Once it is done, and once only. Throws what the call threw.
    Result take() { return state_->take(); }

  private:
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        bool abandoned = false;
        bool ended = false;
        std::optional<Result> result;
        std::exception_ptr failure;

        void run(const Call& call) {
            std::optional<Result> found;
            std::exception_ptr thrown;
            try {
                found = call([this] {
                    const std::lock_guard lock(mutex);
                    return !abandoned;
                });
            } catch (...) {
                thrown = std::current_exception();
            }
            const std::lock_guard lock(mutex);
            if (!abandoned) result = std::move(found);
            failure = thrown;
            ended = true;
            changed.notify_all();
        }
        bool abandon() {
            const std::lock_guard lock(mutex);
            return !std::exchange(abandoned, true);
        }
        bool ended_until(std::chrono::steady_clock::time_point deadline) {
            std::unique_lock lock(mutex);
            return changed.wait_until(lock, deadline, [this] { return ended; });
        }
        Result take() {
            const std::lock_guard lock(mutex);
            if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
            return std::move(*result);
        }
    };

    std::shared_ptr<State> state_ = std::make_shared<State>();
    std::chrono::steady_clock::time_point patience_over_{};
    pthread_t thread_;
};

}  // namespace retryd::amqp
