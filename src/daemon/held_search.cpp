#include "daemon/held_search.h"

#include "core/topology.h"
#include "http/client.h"
#include "http/management.h"
#include "system/clock.h"

namespace retryd::daemon {

namespace {

constexpr core::Milliseconds between_held_searches{60'000};

void search(HeldQueues& held, const BrokerTarget& target) {
    try {
        const http::ManagementClient client(*target.settings->management, target.settings->broker.tls,
                                            target.endpoint.vhost);
        for (const http::ListedQueue& queue : client.queues()) {
            if (queue.messages.value_or(1) == 0) continue;
            const auto work_queue = core::work_queue_held_in(target.settings->policy, queue.name, queue.arguments);
            if (work_queue) held.found(*work_queue, queue.name, true, system::now());
        }
    } catch (const http::Error&) {
        // `retryd doctor` says what is wrong with the management API.
    }
}

}  // namespace

HeldSearch::HeldSearch(std::shared_ptr<HeldQueues> held)
    : thread_(state_, [state = state_, held] {
          while (const auto target = state->await_target()) {
              if (target->settings->management) search(*held, *target);
              state->pause(between_held_searches, *target);
          }
      }) {}

}  // namespace retryd::daemon
