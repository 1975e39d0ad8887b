#include "fuzz/checked_flow.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "core/death.h"
#include "core/decide.h"
#include "core/duration.h"
#include "core/message.h"
#include "core/names.h"
#include "core/proof.h"
#include "core/topology.h"
#include "fuzz/composed.h"
#include "fuzz/require.h"

namespace retryd::fuzz {
namespace {

using core::Milliseconds;

const core::ProofKeys& keys = core::test::proof_keys;
const core::WallTime now{Milliseconds{1'800'000'000'000}};

void check_death(const core::Death& death) {
    require(core::usable_queue_name(death.queue), "a death names a queue that can be");
    require(death.queue != error_queue, "a death in the error queue is a hop of ours");
    require(!death.reason.empty(), "a death has a reason");
    require(death.count >= 0, "deaths are never less than none");
}

/// As it comes back from a detour: the broker writes down that it expired there.
class BackFromDetour {
  public:
    explicit BackFromDetour(const core::Properties& on_detour) : name_(core::detour_name(core::detour_delays.front())) {
        using core::Value;
        entry_ = {core::Field{"count", Value::of_long(1)}, core::Field{"queue", Value::of_longstr(name_)},
                  core::Field{"reason", Value::of_longstr("expired")}};
        death_ = {core::Kind::table, core::Table{entry_.data(), entry_.size()}};
        fields_.push_back({core::x_death, {core::Kind::array, core::Array{&death_, 1}}});
        const core::Table carried = on_detour.header_table();
        fields_.insert(fields_.end(), carried.begin(), carried.end());
    }
    BackFromDetour(const BackFromDetour&) = delete;
    BackFromDetour& operator=(const BackFromDetour&) = delete;

    core::Table headers() const { return {fields_.data(), fields_.size()}; }

  private:
    std::string name_;
    std::array<core::Field, 3> entry_;
    core::Value death_;
    std::vector<core::Field> fields_;
};

/// What is decided, without the views.
std::string text_of(const core::Decision& decision, const core::ComposeContext& context) {
    if (const auto* retry = std::get_if<core::Retry>(&decision))
        return "retry " + std::to_string(retry->attempt) + ' ' + std::to_string(retry->delay.count());
    if (const auto* drop = std::get_if<core::Drop>(&decision)) return "drop " + std::to_string(drop->attempt);
    const auto& park = std::get<core::Park>(decision);
    std::string buffer;
    return "park " + std::to_string(park.attempt) + ' ' +
           std::string{core::reason_text(park.reason, context.death ? context.death->reason : "", buffer)};
}

void check_attempt(const core::Death& death, const core::RetryHistory& history) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const std::int64_t attempt = core::attempt_of(death, history);
    require(history.attempt >= 0, "what a message carries is never negative");
    require(attempt >= 1, "an attempt is at least the first");
    const bool counts = death.count > 0;
    require(attempt > history.attempt || attempt == most || !counts, "the attempt grows with every death");
    require(counts || attempt == std::max<std::int64_t>(1, history.attempt), "a detour spends no attempt");
}

void check_retry(const core::Retry& retry, const core::Ladder& ladder) {
    require(retry.attempt >= 1 && retry.attempt <= static_cast<std::int64_t>(ladder.steps.size()),
            "an attempt beyond the ladder is parked");
    const auto delays = core::distinct_delays(ladder);
    require(std::find(delays.begin(), delays.end(), retry.delay) != delays.end(), "there is a rung for the delay");
}

/// A delivery that has to wait is copied, and the copy equals it.
void check_copy(const core::Message& message) {
    const core::OwnedDelivery copy({1, false, message});
    require(encoded(copy.get().message.properties) == encoded(message.properties), "a held message keeps its headers");
    require(copy.get().message.body == message.body, "a held message keeps its body");
}

}  // namespace

core::Policy policy_of(bool with_rest) {
    using namespace std::chrono_literals;
    using core::Action;
    using core::ReturnPath;
    core::Policy policy;
    core::Ladder standard{"standard", {5s, 30s, 2min}};
    core::Ladder shared{"shared", {1s, 1s, 60s, 15min}, core::QueueType::quorum, ReturnPath::headers, {20, 4}};
    core::Ladder short_one{"short", {1ms, 2ms, 3ms, 1h, 24h, core::longest_ttl}, core::QueueType::classic};
    policy.entries.push_back({"email", standard, {"{queue}.parked"}, {}, {}});
    policy.entries.push_back({"web.*", shared, {"", "team.dlx", "dead.{queue}"}, {}, 24h});
    policy.entries.push_back(
        {"drop.*", standard, {"x"}, {Action::drop, Action::drop, Action::retry, Action::park}, 1ms});
    if (with_rest) policy.entries.push_back({"*", short_one, {"{queue}.parked"}, {}, {}});
    return policy;
}

std::optional<Retried> CheckedFlow::handle(const core::Message& message, double random) {
    check_copy(message);
    const core::Table headers = message.properties.header_table();
    if (const auto from = core::read_returned_by_rung(headers)) {
        send_home_from_rung(message, from->queue);
        return std::nullopt;
    }
    core::ComposeContext context{core::read_death(headers, error_queue), {}, connection_user, &keys};
    const core::Entry* entry = nullptr;
    if (context.death) {
        check_death(*context.death);
        context.history = core::read_retry_history(headers, context.death->queue, keys);
        check_attempt(*context.death, context.history);
        entry = core::match(policy_, context.death->queue);
    }
    const core::Decision decision = core::decide(context.death, context.history, entry, now, random);
    if (context.death) check_detour(message, context, decision, entry, random);
    if (std::holds_alternative<core::Drop>(decision)) return std::nullopt;
    const core::Message composed = compose(message, context, decision);
    const auto arrived = publish(composed);
    const auto* retry = std::get_if<core::Retry>(&decision);
    if (retry == nullptr) return std::nullopt;
    check_retry(*retry, entry->ladder);
    if (!arrived) return std::nullopt;
    const auto carried = core::read_retry_history(arrived->header_table(), context.death->queue, keys);
    require(carried.proven, "what retryd writes is proven");
    require(carried.attempt == retry->attempt, "the attempt is carried to the next round");
    return Retried{std::string{context.death->queue}, retry->attempt, *arrived};
}

/// A message that waits on a detour comes back as the one that it was.
void CheckedFlow::check_detour(const core::Message& message, const core::ComposeContext& context,
                               const core::Decision& decision, const core::Entry* entry, double random) {
    const core::Retry detour{core::attempt_of(*context.death, context.history), core::detour_delays.front()};
    const core::Message composed = core::compose_retry(message, context, detour, scratch_);
    check_composed(message, context, composed, Composed::retried);
    const auto arrived = publish(composed);
    if (!arrived) return;
    const BackFromDetour back{*arrived};
    require(!core::read_returned_by_rung(back.headers()), "what a detour returns is not undelivered");
    core::ComposeContext again{core::read_death(back.headers(), error_queue), {}, connection_user, &keys};
    require(again.death && again.death->queue == context.death->queue, "a detour keeps the work queue");
    again.history = core::read_retry_history(back.headers(), again.death->queue, keys);
    require(core::producer_routing_key(again) == core::producer_routing_key(context), "a detour keeps the routing key");
    const core::Decision then = core::decide(again.death, again.history, entry, now, random);
    require(text_of(then, again) == text_of(decision, context), "after a detour the same is decided");
}

core::Message CheckedFlow::compose(const core::Message& message, const core::ComposeContext& context,
                                   const core::Decision& decision) {
    if (const auto* retry = std::get_if<core::Retry>(&decision)) {
        const core::Message composed = core::compose_retry(message, context, *retry, scratch_);
        check_composed(message, context, composed, Composed::retried);
        return composed;
    }
    const core::Message composed =
        core::compose_parked(message, context, std::get<core::Park>(decision), now, scratch_);
    check_composed(message, context, composed, Composed::parked);
    return composed;
}

void CheckedFlow::send_home_from_rung(const core::Message& message, std::string_view work_queue) {
    require(core::usable_queue_name(work_queue), "it returns to a queue that can be");
    const core::ComposeContext context{
        {}, core::read_retry_history(message.properties.header_table(), work_queue, keys), connection_user, &keys};
    const core::Message returned = core::compose_return(message, context, scratch_);
    check_composed(message, context, returned, Composed::returned);
    publish(returned);
    const core::Park park{core::ParkReason::queue_gone, context.history.attempt};
    const core::Message parked = core::compose_parked(message, context, park, now, scratch_);
    check_composed(message, context, parked, Composed::parked);
    publish(parked);
    require(core::producer_routing_key(context).size() <= 255, "a routing key is a short string");
}

std::optional<core::Properties> CheckedFlow::publish(const core::Message& composed) {
    return wire_.send(composed.properties);
}

}  // namespace retryd::fuzz
