#include "daemon/held_search.h"

#include <optional>
#include <utility>

#include "core/topology.h"
#include "http/client.h"
#include "http/management.h"
#include "system/clock.h"

namespace retryd::daemon {

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
