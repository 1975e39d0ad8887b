#include "amqp/poison_head.h"

#include <memory>
#include <thread>
#include <utility>

#include "amqp/head_glance.h"
#include "system/clock.h"

namespace retryd::amqp {

PoisonHead wear_out_head(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& queue,
                         HeldHeads& held, int most_attempts, core::Milliseconds pause,
                         const std::function<bool()>& go_on) {
    PoisonHead head;
    const auto is = [&head](PoisonHead::State state) {
        head.state = state;
        return head;
    };
    while (go_on()) {
        std::this_thread::sleep_for(pause);
        held.turn(system::steady_now());
        auto glance = std::make_unique<HeadGlance>(endpoint, settings, queue);
        const HeadGlance::Sees sees = glance->look();
        if (sees == HeadGlance::Sees::message) return is(PoisonHead::State::another);
        if (sees == HeadGlance::Sees::nothing) return is(PoisonHead::State::none);
        if (sees == HeadGlance::Sees::end && ++head.connections_ended >= most_attempts)
            return is(PoisonHead::State::stays);
        if (sees == HeadGlance::Sees::silence && !held.keep(std::move(glance))) return is(PoisonHead::State::none);
    }
    return is(PoisonHead::State::stopped);
}

}  // namespace retryd::amqp
