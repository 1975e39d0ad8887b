#include "instructions/cases.h"

#include <memory>

#include "instructions/quiet_broker.h"
#include "instructions/scenes.h"
#include "telemetry/stats.h"

namespace retryd::instructions {
namespace {

using core::test::connection_user;

const core::Now now{core::WallTime{core::Milliseconds{1'800'000'000'000}},
                    core::SteadyTime{core::Milliseconds{1'000'000}}};

using SetUp = void (*)(Scene&);

/// From the header table to the message that is published, without routes, sequence numbers and acks.
class Pure {
  public:
    explicit Pure(SetUp set_up) { set_up(scene_); }

    void run() {
        const core::Message& message = scene_.dead.message;
        const core::Table headers = message.properties.header_table();
        core::ComposeContext context{
            core::read_death(headers, scene_.policy.error_queue), {}, connection_user, &core::test::proof_keys};
        const core::Entry* entry = nullptr;
        if (context.death) {
            context.history = core::read_retry_history(headers, context.death->queue, core::test::proof_keys);
            entry = core::match(scene_.policy, context.death->queue);
        }
        const core::Decision decision = core::decide(context.death, context.history, entry, now.wall, 0.5);
        if (const auto* retry = std::get_if<core::Retry>(&decision)) {
            core::compose_retry(message, context, *retry, scratch_);
        } else {
            core::compose_parked(message, context, std::get<core::Park>(decision), now.wall, scratch_);
        }
    }

  private:
    Scene scene_;
    core::ComposeScratch scratch_;
};

/// From the delivery to the ack: `burst` deliveries, one confirm for all of them, one ack.
class Relayed {
  public:
    Relayed(SetUp set_up, std::size_t burst, std::unique_ptr<relay::Reporter> reporter)
        : burst_(burst), reporter_(std::move(reporter)) {
        set_up(scene_);
        relay_ = std::make_unique<relay::Relay>(
            std::make_shared<const core::Policy>(scene_.policy),
            relay::SessionInfo{{}, std::string{connection_user}, [] { return 0.5; }, true, 128, core::test::proof_keys},
            broker_, *reporter_, poison_);
        relay_->start();
        broker_.answer_declares(*relay_, now);
    }

    void run() {
        for (std::size_t i = 0; i < burst_; ++i)
            relay_->on_delivery({++tag_, false, scene_.dead.message}, now);
        broker_.confirm_all(*relay_, now);
        relay_->flush(now);
    }

  private:
    std::size_t burst_;
    Scene scene_;
    QuietBroker broker_;
    std::unique_ptr<relay::Reporter> reporter_;
    relay::PoisonDetector poison_;
    std::unique_ptr<relay::Relay> relay_;
    core::DeliveryTag tag_ = 0;
};

Case pure(const char* name, SetUp set_up) {
    return {name, 1, 0, [scene = std::make_shared<Pure>(set_up)] { scene->run(); }};
}

template <class Reporter = QuietReporter>
Case relayed(const char* name, SetUp set_up, std::size_t burst, std::size_t allocations) {
    const auto scene = std::make_shared<Relayed>(set_up, burst, std::make_unique<Reporter>());
    return {name, burst, allocations, [scene] { scene->run(); }};
}

}  // namespace

std::vector<Case> pure_cases() {
    return {pure("first-failure", first_failure),
            pure("third-failure-of-five", third_failure_of_five),
            pure("one-of-twenty-queues", one_of_twenty_queues),
            pure("last-of-fifty-rungs", last_of_fifty_rungs),
            pure("two-hundred-foreign-headers", two_hundred_foreign_headers),
            pure("parked-with-its-story", parked_with_its_story),
            pure("no-death", no_death)};
}

std::vector<Case> relay_cases() {
    return {relayed("relay-one-by-one", first_failure, 1, 0), relayed("relay-a-hundred-at-once", first_failure, 100, 0),
            relayed("relay-fifty-rungs", last_of_fifty_rungs, 100, 0),
            relayed("relay-parked", parked_with_its_story, 100, 0),
            // The second one again, with the messages counted as for metrics.
            relayed<telemetry::MessageStats>("relay-counted", first_failure, 100, 0)};
}

}  // namespace retryd::instructions
