// A relay between a fake broker and a reporter that writes down, with a clock that the test moves.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/proof.h"
#include "relay/fake_broker.h"

namespace retryd::relay {

/// Lines such as `retried email email.retry.5s rejected`.
class LineReporter : public Reporter {
  public:
    std::vector<std::string> lines;

    void settled(const Settled& m) override {
        constexpr std::string_view words[] = {"retried",  "parked",    "dropped", "held",
                                              "detoured", "sent home", "returned"};
        add({words[static_cast<int>(m.outcome)], m.work_queue, m.target, m.reason});
    }
    void dead_lettered(std::string_view work_queue, std::string_view why) override {
        add({"dead-lettered", work_queue, why});
    }
    void stuck(std::string_view work_queue, std::string_view why, core::Milliseconds) override {
        add({"stuck", work_queue, why});
    }
    void parked_before(std::string_view exchange) override { add({"parked-before", exchange}); }
    void unroutable(std::string_view exchange, std::string_view key) override { add({"unroutable", exchange, key}); }
    void silent(const TargetName& target) override { add({"silent", target.name}); }
    void requeued(const TargetName& target, RequeueCause cause, core::Milliseconds delay) override {
        constexpr std::string_view words[] = {"nacked", "returned", "unanswered", "detour-refused", "channel-closed"};
        add({"requeued", target.name, words[static_cast<int>(cause)], std::to_string(delay.count())});
    }
    void refused(TargetRole, std::string_view name, std::string_view why) override { add({"refused", name, why}); }
    void healed(TargetRole, std::string_view name) override { add({"healed", name}); }
    void not_needed(TargetRole, std::string_view name) override { add({"not-needed", name}); }

  private:
    void add(std::initializer_list<std::string_view> words) {
        std::string line;
        for (const std::string_view word : words)
            line.append(line.empty() ? "" : " ").append(word);
        lines.push_back(line);
    }
};

/// A message as the broker dead-letters it: one death, and the headers that earlier rounds left.
struct DeadMessage {
    std::string queue = "email";
    std::string reason = "rejected";
    std::string carried_queue = {};
    std::int64_t carried_attempt = 0;
    std::string body = "body";
    std::uint8_t priority = 0;
    std::string routing_key = {};
    std::uint64_t first_death = 0;
    bool redelivered = false;
    bool parked_before = false;
    bool forged = false;  // no proof of retryd's
    std::string retry_after = {};
};

class Fixture {
  public:
    explicit Fixture(core::BrokerFeatures features = {}) : Fixture(policy(), features) {}
    /// A session after others, which may have left messages to isolate.
    explicit Fixture(PoisonDetector& known) : Fixture(policy(), {}, true, &known) {}
    explicit Fixture(core::Policy policy, core::BrokerFeatures features = {}, bool declare = true,
                     PoisonDetector* known = nullptr, double random = 0)
        : relay(std::make_shared<const core::Policy>(std::move(policy)),
                {features, "retryd", [=] { return random; }, declare, 128, core::test::proof_keys,
                 [this](std::string_view) { return outage; },
                 [this](std::string_view queue) {
                     return is_excluded_from_glob ? is_excluded_from_glob(queue) : std::optional{false};
                 }},
                broker, reporter, known != nullptr ? *known : poison) {
        broker.queues["retryd.parked"];
        broker.queues["retryd.errors"];
        relay.start();
    }

    /// `email` by name on 5s, 30s; `web.*` by glob on 1s; nothing for the rest.
    static core::Policy policy() {
        core::Policy p;
        p.entries.push_back({"email", {"standard", {seconds(5), seconds(30)}}, {"{queue}.parked"}});
        p.entries.push_back({"web.*", {"short", {seconds(1)}}, {"{queue}.parked"}});
        return p;
    }

    static core::Milliseconds seconds(int count) { return core::Milliseconds{count * 1000}; }

    void adopt(core::Policy policy) { relay.adopt(std::make_shared<const core::Policy>(std::move(policy)), now); }

    void answer_declares() { broker.answer_declares(relay, now); }

    core::DeliveryTag deliver(const DeadMessage& dead = {}) {
        const core::Value keys[] = {core::Value::of_longstr(dead.routing_key)};
        const core::Field entry[] = {{"queue", core::Value::of_longstr(dead.queue)},
                                     {"reason", core::Value::of_longstr(dead.reason)},
                                     {"count", core::Value::of_long(1)},
                                     {"routing-keys", {core::Kind::array, core::Array{keys, 1}}}};
        const core::Value entries[] = {{core::Kind::table, core::Table{entry, 4}}};
        const core::Field headers[] = {{"x-death", {core::Kind::array, core::Array{entries, 1}}},
                                       {"retryd-queue", core::Value::of_longstr(dead.carried_queue)},
                                       {"retryd-attempt", core::Value::of_long(dead.carried_attempt)},
                                       {"retryd-first-death", core::Value::of_timestamp(dead.first_death)}};
        std::vector<core::Field> fields(headers, headers + (dead.carried_queue.empty() ? 1 : 3));
        if (dead.first_death != 0) fields.push_back(headers[3]);
        if (dead.parked_before) fields.push_back({"retryd-parked-reason", core::Value::of_longstr("too-old")});
        if (!dead.retry_after.empty())
            fields.push_back({"x-opt-retry-after", core::Value::of_longstr(dead.retry_after)});
        core::ProofText proof;
        if (!dead.forged) fields.push_back(core::test::proof_of({fields.data(), fields.size()}, proof));
        core::Message message;
        message.properties.headers = core::Table{fields.data(), fields.size()};
        if (dead.priority != 0) message.properties.priority = dead.priority;
        message.body = dead.body;
        return broker.deliver(relay, message, now, dead.redelivered);
    }

    /// A message that has taken a detour: what the broker makes of compose_retry's.
    core::DeliveryTag deliver_detoured(std::int64_t attempt, const std::string& reason = "rejected",
                                       std::uint64_t first_death = 0, const std::string& work_queue = "email") {
        const core::Field entry[] = {{"queue", core::Value::of_longstr("retryd.detour.2s")},
                                     {"reason", core::Value::of_longstr("expired")},
                                     {"count", core::Value::of_long(1)}};
        const core::Value entries[] = {{core::Kind::table, core::Table{entry, 3}}};
        const core::Field headers[] = {{"x-death", {core::Kind::array, core::Array{entries, 1}}},
                                       {"retryd-queue", core::Value::of_longstr(work_queue)},
                                       {"retryd-attempt", core::Value::of_long(attempt)},
                                       {"retryd-reason", core::Value::of_longstr(reason)},
                                       {"retryd-first-death", core::Value::of_timestamp(first_death)}};
        core::Message message;
        message.properties.headers = core::Table{headers, first_death == 0 ? 4U : 5U};
        message.body = "detoured";
        return broker.deliver(relay, message, now);
    }

    /// What left a shared rung and could not be returned.
    core::DeliveryTag deliver_undelivered(const std::string& work_queue, std::string_view forged_proof = {}) {
        const core::Field entry[] = {{"queue", core::Value::of_longstr("retryd.shared.1s")},
                                     {"reason", core::Value::of_longstr("expired")}};
        const core::Value entries[] = {{core::Kind::table, core::Table{entry, 2}}};
        const core::Field headers[] = {{"x-death", {core::Kind::array, core::Array{entries, 1}}},
                                       {"retryd-queue", core::Value::of_longstr(work_queue)},
                                       {"retryd-attempt", core::Value::of_long(2)},
                                       {"retryd-routing-key", core::Value::of_longstr("order.paid")}};
        core::ProofText proof;
        std::vector<core::Field> fields(headers, headers + 4);
        fields.push_back(core::test::proof_of({fields.data(), fields.size()}, proof));
        if (!forged_proof.empty()) fields.back().value = core::Value::of_longstr(forged_proof);
        core::Message message;
        message.properties.headers = core::Table{fields.data(), fields.size()};
        message.body = "undelivered";
        return broker.deliver(relay, message, now);
    }

    /// The broker closes the publishing channel: nothing of what was in flight is confirmed.
    void close_publishing(int code, const std::string& why) {
        relay.on_publishing_closed(broker.close_channel(), code, why, now);
    }

    /// `returns`: so often it has come back to the error queue.
    core::DeliveryTag deliver_without_death(std::int64_t returns = 0) {
        const core::Field count{"x-delivery-count", core::Value::of_long(returns)};
        core::Message message;
        message.properties.headers = core::Table{&count, returns > 0 ? std::size_t{1} : std::size_t{0}};
        message.body = "straight";
        return broker.deliver(relay, message, now);
    }

    void answer_binds() { broker.answer_binds(relay, now); }

    void confirm_all(bool acked = true) {
        broker.confirm_all(relay, now, acked);
        relay.flush(now);
    }

    void pass(core::Milliseconds time) {
        now.steady += time;
        now.wall += time;
        broker.answer_closes(relay);
        relay.on_tick(now);
    }

    /// The target answers: from now on it may have many in flight.
    void warm_up(const DeadMessage& dead = {}, int rounds = 3) {
        for (int i = 0; i < rounds; ++i) {
            for (int j = 0; j < 4; ++j)
                deliver(dead);
            confirm_all();
        }
    }

    std::size_t lying_in(const std::string& queue) const {
        const auto found = broker.queues.find(queue);
        return found == broker.queues.end() ? 0 : found->second.size();
    }

    /// A header of the last message in a queue, as text or number.
    std::string header(const std::string& queue, std::string_view name) const {
        const core::Table headers = broker.queues.at(queue).back().get().message.properties.header_table();
        const core::Value* value = core::find(headers, name);
        if (const auto text = core::text_of(value)) return std::string{*text};
        if (const auto number = core::integer_of(value)) return std::to_string(*number);
        return "(none)";
    }

    bool has_header(const std::string& queue, std::string_view name) const {
        const core::OwnedDelivery& last = broker.queues.at(queue).back();
        return core::find(last.get().message.properties.header_table(), name) != nullptr;
    }

    core::Now now{core::WallTime{core::Milliseconds{1'800'000'000'000}},
                  core::SteadyTime{core::Milliseconds{1'000'000}}};
    core::KnownOutage outage;  // what is known of one, in entries that have the rule
    std::function<std::optional<bool>(std::string_view)>
        is_excluded_from_glob;  // what is known of queues that globs name
    PoisonDetector poison;
    FakeBroker broker;
    LineReporter reporter;
    Relay relay;
};

}  // namespace retryd::relay
