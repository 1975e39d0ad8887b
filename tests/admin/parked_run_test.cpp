#include "admin/parked_run.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/names.h"
#include "core/proof.h"
#include "support/catch.h"

// One run through a parking queue, without a broker.

namespace retryd::admin::parked_run_test {
namespace {

using core::Milliseconds;
using core::Value;

/// Takes what is published, and remembers what was acked.
class FakePassage : public relay::PublishPort {
  public:
    relay::PublishResult publish(const core::Publication& publication) override {
        if (result == relay::PublishResult::sent) {
            addresses.push_back(std::string{publication.exchange} + ">" + std::string{publication.routing_key});
            bodies.emplace_back(publication.message.body);
        }
        return result;
    }
    void ack(core::DeliveryTag tag, bool multiple) override {
        const core::DeliveryTag first = multiple ? 1 : tag;
        for (core::DeliveryTag each = first; each <= tag; ++each) {
            if (std::find(acked.begin(), acked.end(), each) == acked.end()) acked.push_back(each);
        }
    }

    relay::PublishResult result = relay::PublishResult::sent;
    std::vector<std::string> addresses;
    std::vector<std::string> bodies;
    std::vector<core::DeliveryTag> acked;
};

ParkedRunOrder order_of(std::size_t count) {
    ParkedRunOrder order;
    order.count = count;
    order.most_unacked = 65'535;
    order.error_queue = "retryd.errors";
    order.from = "email.parked";
    order.id = "this-run";
    order.connection_user = "retryd";
    order.proof_keys = core::test::proof_keys;
    order.reachable = {"email", "sms"};
    return order;
}

class Scene {
  public:
    explicit Scene(ParkedRunOrder order) : run(std::move(order), port) {}

    /// A message that retryd parked. `id`: of the run that replayed it last.
    void deliver(const std::string& queue, const std::string& reason = "attempts-exhausted",
                 const std::string& id = "") {
        texts_.insert(texts_.end(), {queue, reason, id, std::to_string(++tag_)});
        const std::size_t last = texts_.size();
        const std::string& body = texts_[last - 1];
        fields_.push_back({{core::header::queue, Value::of_longstr(texts_[last - 4])},
                           {core::header::parked_reason, Value::of_longstr(texts_[last - 3])}});
        if (parked_at) fields_.back().push_back({core::header::parked_at, Value::of_timestamp(*parked_at)});
        if (queue.empty()) fields_.back().erase(fields_.back().begin());
        if (!id.empty()) {
            replays_.emplace_back();
            fields_.back().push_back(
                {core::header::replays, admin::write_replays({{.id = texts_[last - 2]}}, replays_.back())});
        }
        const core::Table headers{fields_.back().data(), fields_.back().size()};
        if (proven) fields_.back().push_back(core::test::proof_of(headers, proofs_.emplace_back()));
        core::Delivery delivery;
        delivery.tag = tag_;
        delivery.message.body = body;
        delivery.message.properties.headers = core::Table{fields_.back().data(), fields_.back().size()};
        run.on_delivery(delivery);
    }
    /// On a channel of its own.
    void next_consumer(std::size_t most_unacked) {
        run.next_consumer(most_unacked);
        port.acked.clear();
        tag_ = 0;
    }
    void deliver_many(std::size_t number, const std::string& queue) {
        for (std::size_t i = 0; i < number; ++i)
            deliver(queue);
    }
    void tick(Milliseconds later = Milliseconds{0}) {
        now.steady += later;
        run.on_tick(now);
    }
    void reject_one_of_ours() {
        admin::ReplayFields fields;
        const Value replays = admin::write_replays({{.id = "this-run"}}, fields);
        const core::Field field{core::header::replays, replays};
        run.on_rejected({&field, 1});
    }

    std::optional<std::uint64_t> parked_at;  // in seconds, of what is delivered
    bool proven = true;                      // whether that says that retryd has written it
    FakePassage port;
    core::Now now{core::WallTime{std::chrono::seconds{1'800'000'000}}, core::SteadyTime{Milliseconds{1'000'000}}};
    ParkedRun run;

  private:
    std::deque<std::string> texts_;
    std::deque<std::vector<core::Field>> fields_;
    std::deque<admin::ReplayFields> replays_;
    std::deque<core::ProofText> proofs_;
    core::DeliveryTag tag_ = 0;
};

using End = ParkedRun::End;
using Tags = std::vector<core::DeliveryTag>;

}  // namespace

TEST_CASE("what is selected returns to its work queue and is acked once it is confirmed; the rest is never acked") {
    ParkedRunOrder order = order_of(3);
    order.selection.queue = "email";
    Scene s(order);
    s.deliver("email");
    s.deliver("sms");
    s.deliver("email");
    s.tick();
    CHECK(s.port.addresses == std::vector<std::string>{">email", ">email"});
    CHECK(s.port.acked.empty());
    CHECK_FALSE(s.run.finished());
    s.run.on_confirm(2, true, true);
    s.tick();
    s.tick(Milliseconds{100});
    CHECK(s.port.acked == Tags{1, 3});
    CHECK(s.run.finished());
    CHECK(s.run.counts().done == 2);
    CHECK(s.run.counts().not_selected == 1);
}

TEST_CASE("no more messages are looked at than lay there at the start") {
    Scene s(order_of(2));
    s.deliver_many(5, "email");
    s.tick();
    CHECK(s.port.bodies == std::vector<std::string>{"1", "2"});
    CHECK_FALSE(s.run.wants_more());
    CHECK(s.run.counts().looked_at == 2);
}

TEST_CASE("of the selected only the first so many go") {
    ParkedRunOrder order = order_of(10);
    order.first = 2;
    order.selection.reason = "too-old";
    Scene s(order);
    s.deliver("email");
    s.deliver("email", "too-old");
    s.deliver("email", "too-old");
    s.deliver("email", "too-old");
    s.tick();
    CHECK(s.port.bodies == std::vector<std::string>{"2", "3"});
}

TEST_CASE("what this run has sent already and came back is not sent again; what another run sent is") {
    Scene s(order_of(2));
    s.deliver("email", "attempts-exhausted", "this-run");
    s.deliver("email", "attempts-exhausted", "another");
    s.tick();
    CHECK(s.port.bodies == std::vector<std::string>{"2"});
    CHECK(s.run.counts().came_back == 1);
}

TEST_CASE("a message of which nobody knows the work queue stays, unless another queue is named") {
    Scene s(order_of(1));
    s.deliver("");
    s.tick();
    CHECK(s.port.bodies.empty());
    CHECK(s.run.counts().without_destination == 1);
    ParkedRunOrder order = order_of(1);
    order.to = "other";
    Scene elsewhere(order);
    elsewhere.deliver("");
    elsewhere.tick();
    CHECK(elsewhere.port.addresses == std::vector<std::string>{">other"});
}

TEST_CASE("a work queue with a shared ladder is sent to through the return exchange") {
    ParkedRunOrder order = order_of(1);
    order.through_return = {"email"};
    Scene s(order);
    s.deliver("email");
    s.tick();
    CHECK(s.port.addresses == std::vector<std::string>{"retryd.return>"});
}

TEST_CASE("what is refused or handed back is counted and never acked") {
    Scene s(order_of(3));
    s.deliver_many(3, "email");
    s.tick();
    s.run.on_confirm(1, false, false);
    s.run.on_returned("", "email");
    s.run.on_confirm(3, true, true);
    s.tick();
    s.tick(Milliseconds{100});
    CHECK(s.port.acked.empty());
    CHECK(s.run.counts().refused == 1);
    CHECK(s.run.counts().unrouted == 2);
    CHECK(s.run.finished());
}

TEST_CASE("so many a second, and no burst after a time in which nothing could be sent") {
    ParkedRunOrder order = order_of(100);
    order.per_second = 10;
    Scene s(order);
    s.deliver_many(100, "email");
    s.tick();
    CHECK(s.port.bodies.size() == 1);
    s.tick(Milliseconds{99});
    CHECK(s.port.bodies.size() == 1);
    s.tick(Milliseconds{1});
    CHECK(s.port.bodies.size() == 2);
    s.tick(Milliseconds{500});
    CHECK(s.port.bodies.size() == 7);
    s.run.pause();
    s.tick(Milliseconds{5'000});
    CHECK(s.port.bodies.size() == 7);
    s.run.resume();
    s.tick();
    CHECK(s.port.bodies.size() == 8);
}

TEST_CASE("as many failures as are allowed change nothing; one more ends the run, and what waits stays") {
    ParkedRunOrder order = order_of(10);
    order.per_second = 1;
    order.stop_above = 2;
    Scene s(order);
    s.deliver_many(10, "email");
    s.tick();
    s.reject_one_of_ours();
    s.reject_one_of_ours();
    CHECK(s.run.waiting() == 9);
    s.reject_one_of_ours();
    CHECK(s.run.ended() == End::failures);
    CHECK(s.run.waiting() == 0);
    CHECK_FALSE(s.run.finished());
    s.run.on_confirm(1, false, true);
    s.tick();
    CHECK(s.run.finished());
    CHECK(s.port.acked == Tags{1});
    CHECK(s.run.counts().selected == 1);
}

TEST_CASE("what others reject is no failure of this run") {
    ParkedRunOrder order = order_of(1);
    order.stop_above = 0;
    Scene s(order);
    s.run.on_rejected({});
    CHECK(s.run.ended() == End::none);
    s.reject_one_of_ours();
    CHECK(s.run.ended() == End::failures);
}

TEST_CASE("a message that fails again and again on its way up the ladder is one failure") {
    Scene s(order_of(10));
    admin::ReplayFields fields;
    const Value replays = admin::write_replays({{.id = "this-run"}}, fields);
    const std::array again{core::Field{core::header::replays, replays},
                           core::Field{core::header::attempt, Value::of_long(1)}};
    s.reject_one_of_ours();
    s.run.on_rejected({again.data(), again.size()});
    CHECK(s.run.counts().failed == 1);
}

TEST_CASE("what belongs to a queue that is not to be sent to stays, and the others go") {
    Scene s(order_of(10));
    s.deliver("victim");
    s.deliver("email");
    s.tick();
    CHECK(s.run.counts().without_destination == 1);
    CHECK(s.run.counts().selected == 1);
}

TEST_CASE("refusals of the work queue count as failures") {
    ParkedRunOrder order = order_of(10);
    order.stop_above = 1;
    order.per_second = 1;
    Scene s(order);
    s.deliver_many(10, "email");
    s.tick();
    s.run.on_confirm(1, false, false);
    CHECK(s.run.ended() == End::all);
    s.tick(Milliseconds{1'000});
    s.run.on_confirm(2, false, false);
    CHECK(s.run.ended() == End::failures);
}

TEST_CASE("interrupted, it waits for what is in flight and sends nothing more") {
    Scene s(order_of(10));
    s.deliver_many(2, "email");
    s.tick();
    s.deliver_many(2, "email");
    s.run.stop(End::interrupted);
    s.tick();
    CHECK(s.port.bodies.size() == 2);
    CHECK_FALSE(s.run.finished());
    s.run.on_confirm(2, true, true);
    s.tick();
    CHECK(s.run.finished());
    CHECK(s.port.acked == Tags{1, 2});
}

TEST_CASE("a closed publishing channel leaves what was in flight where it is") {
    Scene s(order_of(2));
    s.deliver_many(2, "email");
    s.tick();
    s.run.on_confirm(1, false, true);
    s.run.give_up_unconfirmed();
    s.tick();
    CHECK(s.run.finished());
    CHECK(s.run.ended() == End::broker);
    CHECK(s.run.counts().unknown == 1);
    CHECK(s.port.acked == Tags{1});
}

TEST_CASE("with a full socket nothing is lost and the same message is tried again") {
    Scene s(order_of(1));
    s.port.result = relay::PublishResult::would_block;
    s.deliver("email");
    s.tick();
    CHECK(s.run.paused());
    s.port.result = relay::PublishResult::sent;
    s.run.resume();
    s.tick();
    CHECK(s.port.bodies == std::vector<std::string>{"1"});
}

TEST_CASE("headers that do not fit a frame are counted, and the message stays") {
    Scene s(order_of(1));
    s.port.result = relay::PublishResult::header_too_large;
    s.deliver("email");
    s.tick();
    CHECK(s.run.finished());
    CHECK(s.run.counts().too_large == 1);
    CHECK(s.port.acked.empty());
}

TEST_CASE("a consumer that holds all it may, and can let none of that go, is full: another one goes on") {
    ParkedRunOrder order = order_of(10);
    order.action = ParkedRunOrder::Action::drop;
    order.selection.queue = "email";
    order.most_unacked = 3;
    Scene s(order);
    s.deliver("sms");
    s.deliver("email");
    s.deliver("sms");
    s.tick();
    CHECK_FALSE(s.run.consumer_full());
    s.run.flush_acks();
    CHECK(s.port.acked == Tags{2});
    s.deliver("sms");
    CHECK(s.run.consumer_full());
    s.next_consumer(2);
    s.deliver("email");
    s.tick();
    CHECK(s.port.acked == Tags{1});  // of the channel of this one
    CHECK_FALSE(s.run.consumer_full());
    s.deliver_many(2, "sms");
    CHECK(s.run.consumer_full());
    CHECK(s.run.ended() == End::none);
}

TEST_CASE("a ramp sends one message, then 2, 5, 10 …, each step when the one before has had its time to fail") {
    ParkedRunOrder order = order_of(100);
    order.ramp = true;
    order.stop_above = 1;
    Scene s(order);
    s.deliver_many(100, "email");
    std::vector<std::size_t> sent;
    for (int step = 0; step < 4; ++step) {
        s.tick();
        sent.push_back(s.port.bodies.size());
        s.tick(Milliseconds{10'000});
        CHECK(s.port.bodies.size() == sent.back());  // not confirmed yet
        s.run.on_confirm(s.port.bodies.size(), true, true);
        s.tick();
        s.tick(Milliseconds{2'999});
        CHECK(s.port.bodies.size() == sent.back());
        s.now.steady += Milliseconds{1};
    }
    CHECK(sent == std::vector<std::size_t>{1, 3, 8, 18});
    s.reject_one_of_ours();
    s.reject_one_of_ours();
    s.tick();
    CHECK(s.port.bodies.size() == 18);
    CHECK(s.run.ended() == End::failures);
}

TEST_CASE("a drop acks what is selected and publishes nothing") {
    ParkedRunOrder order = order_of(3);
    order.action = ParkedRunOrder::Action::drop;
    order.selection.queue = "email";
    order.id.clear();
    Scene s(order);
    s.deliver("email");
    s.deliver("sms");
    s.deliver("");
    s.tick();
    CHECK(s.port.acked == Tags{1});
    CHECK(s.port.bodies.empty());
    CHECK(s.run.finished());
}

TEST_CASE("from a rung messages go home as they are, and what has no proof, or no place to go to, stays") {
    ParkedRunOrder order = order_of(4);
    order.action = ParkedRunOrder::Action::home;
    order.through_return = {"sms"};
    Scene s(order);
    s.deliver("email");
    s.deliver("sms");
    s.deliver("gone");
    s.deliver("");
    s.tick();
    CHECK(s.port.addresses == std::vector<std::string>{">email", "retryd.return>"});
    CHECK(s.run.counts().without_destination == 2);
    s.run.on_confirm(2, true, true);
    s.tick(Milliseconds{20});
    CHECK(s.run.counts().done == 2);
    CHECK(s.port.acked.size() == 2);
    CHECK(s.run.ended() == ParkedRun::End::all);
}

TEST_CASE("from a rung messages are parked where their work queue parks: in a queue, or through an exchange") {
    ParkedRunOrder order = order_of(3);
    order.action = ParkedRunOrder::Action::park;
    order.parking = {{"email", {"", "email.parked"}}, {"sms", {"team.dlx", "dead.sms"}}};
    Scene s(order);
    s.deliver("email");
    s.deliver("sms");
    s.deliver("other");
    s.tick();
    CHECK(s.port.addresses == std::vector<std::string>{">email.parked", "team.dlx>dead.sms"});
    CHECK(s.run.counts().without_destination == 1);
}

TEST_CASE("what goes into the archive is handed over as it is, and acked once that is settled") {
    ParkedRunOrder order = order_of(3);
    order.action = ParkedRunOrder::Action::archive;
    order.belongs = [](const Parked& parked) { return parked.queue == "email"; };
    order.reachable = {};
    Scene s(order);
    s.deliver("email");
    s.deliver("sms");
    s.deliver("email");
    s.tick();
    CHECK_FALSE(s.run.sends());
    CHECK(s.port.addresses == std::vector<std::string>{">email.parked", ">email.parked"});
    CHECK(s.port.acked.empty());
    s.run.on_confirm(2, true, true);
    s.tick(Milliseconds{100});
    s.tick(Milliseconds{100});
    CHECK(s.port.acked == Tags{1, 3});
    CHECK(s.run.counts().done == 2);
    CHECK(s.run.counts().not_selected == 1);
}

TEST_CASE("what could not be archived is never acked") {
    ParkedRunOrder order = order_of(2);
    order.action = ParkedRunOrder::Action::archive;
    Scene s(order);
    s.deliver_many(2, "email");
    s.tick();
    s.run.give_up_unconfirmed();
    s.tick(Milliseconds{100});
    CHECK(s.run.finished());
    CHECK(s.port.acked.empty());
    CHECK(s.run.counts().done == 0);
}

TEST_CASE("a look at the head ends before the first message that is young enough, whatever lies behind it") {
    const core::WallTime now{std::chrono::seconds{1'800'000'000}};
    ParkedRunOrder order = order_of(10);
    order.action = ParkedRunOrder::Action::drop;
    order.selection.parked_before = now - std::chrono::hours{1};
    order.stop_at_younger = now;
    Scene s(order);
    s.parked_at = 1'799'990'000;
    s.deliver("email");
    s.parked_at = 1'900'000'000;  // from the future: anybody may say so
    s.deliver("email");
    s.parked_at = std::nullopt;
    s.deliver("email");
    s.parked_at = 1'799'996'400;  // to the second
    s.deliver("email");
    s.proven = false;
    s.parked_at = 1'799'996'500;  // without a proof: anybody may say so, again and again
    s.deliver("email");
    s.proven = true;
    CHECK(s.run.wants_more());
    CHECK_FALSE(s.run.younger_at());
    s.parked_at = 1'799'996'401;
    s.deliver("email");
    CHECK_FALSE(s.run.wants_more());
    CHECK(s.run.younger_at() == 1'799'996'401);
    s.parked_at = 1'799'990'000;
    s.deliver("email");
    s.tick(Milliseconds{100});
    s.tick(Milliseconds{100});
    CHECK(s.port.acked == Tags{1, 4});
    CHECK(s.run.ended() == ParkedRun::End::all);
}

}  // namespace retryd::admin::parked_run_test
