#include "daemon/held_polling.h"

#include <optional>
#include <string>
#include <utility>

#include "core/topology.h"
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

namespace {

constexpr core::Milliseconds between_held_searches{60'000};
/// RabbitMQ tells what was in a queue up to 5 s ago (collect_statistics_interval): what was held right before a start
/// is found by the second search.
constexpr core::Milliseconds second_search_after{6'000};

void search(HeldQueues& held, const BrokerTarget& target) {
    try {
        const http::ManagementClient client(*target.settings->management, target.settings->broker.tls,
                                            target.endpoint.vhost);
        for (const http::ListedQueue& queue : client.queues()) {
            if (queue.messages.value_or(1) == 0) continue;
            const auto work_queue = core::work_queue_held_in(target.settings->policy, queue.name, queue.arguments);
            if (work_queue) {
                held.found(*work_queue, queue.name, true, system::now());
            } else if (queue.messages && core::looks_like_held_queue(queue.name, queue.arguments)) {
                held.found_without_entry(queue.name, static_cast<std::uint64_t>(*queue.messages));
            }
        }
    } catch (const http::Error&) {
        // `retryd doctor` says what is wrong with the management API.
    }
}

}  // namespace

HeldSearch::HeldSearch(std::shared_ptr<HeldQueues> held)
    : thread_(state_, [state = state_, held] {
          std::optional<BrokerTarget> searched;
          while (const auto target = state->await_target()) {
              if (target->settings->management) search(*held, *target);
              const bool again = std::exchange(searched, target) == target;
              state->pause(again ? between_held_searches : second_search_after, *target);
          }
      }) {}

}  // namespace retryd::daemon
