#include "daemon/counter_poller.h"

#include <optional>
#include <string>

#include "http/client.h"
#include "http/management.h"
#include "system/clock.h"

namespace retryd::daemon {

namespace {

/// RabbitMQ counts anew every 5 s; the sooner that is known, the sooner an outage is.
constexpr core::Milliseconds between_questions{1'000};

void ask_for_counters(SideThreadState& state, HeldQueues& held, const BrokerTarget& target) {
    const http::ManagementClient client(*target.settings->management, target.settings->broker.tls,
                                        target.endpoint.vhost);
    for (const std::string& work_queue : held.wanting_counters(system::steady_now())) {
        std::optional<core::QueueCounters> counters;
        try {
            counters = client.counters(work_queue);
        } catch (const http::Error&) {
            // `retryd doctor` says what is wrong with the management API; meanwhile nothing is judged.
        }
        const core::Now now = system::now();
        held.visit(work_queue, [&](HeldQueues::Queue& queue) {
            counters ? queue.outage.counted(*counters, now) : queue.outage.not_counted(now);
        });
        if (!state.is_current(target)) return;
    }
}

}  // namespace

CounterPoller::CounterPoller(std::shared_ptr<HeldQueues> held)
    : thread_(state_, [state = state_, held] {
          while (const auto target = state->await_target()) {
              if (target->settings->management) ask_for_counters(*state, *held, *target);
              state->pause(between_questions, *target);
          }
      }) {}

}  // namespace retryd::daemon
