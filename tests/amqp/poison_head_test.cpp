
#include "amqp/poison_head.h"

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "amqp/error.h"
#include "amqp/peer.h"
#include "support/catch.h"
#include "system/clock.h"

namespace retryd::amqp::poison_head_test {
namespace {

constexpr Channel channel = 1;

using Unreadable = HeadProbe::Unreadable;

/// A look at a queue, and the broker that it is asked of.
struct Look {
    explicit Look(Unreadable unreadable = Unreadable::goes_back)
        : head(std::make_unique<HeadProbe>(std::make_unique<Connection>(peer.take_connection(), "broker"), "errors",
                                           unreadable)) {}

    test::Peer peer;
    std::unique_ptr<HeadProbe> head;

    void answer_qos() { peer.send(channel, AMQP_BASIC_QOS_OK_METHOD, amqp_basic_qos_ok_t{}); }
    void answer_consume() {
        peer.send(channel, AMQP_BASIC_CONSUME_OK_METHOD, amqp_basic_consume_ok_t{bytes_of("retryd-head")});
    }
    void close_connection(std::uint16_t code, std::string_view text = "INTERNAL_ERROR") {
        peer.send(0, AMQP_CONNECTION_CLOSE_METHOD, amqp_connection_close_t{code, bytes_of(text), 0, 0});
    }
    /// The consumer is there, and what is at the head is not: the broker writes it.
    void become_silent() {
        answer_qos();
        answer_consume();
        REQUIRE(head->look() == HeadProbe::Sees::silence);
    }

    void deliver_deep() {
        std::deque<core::Field> fields{{"innermost", core::Value::of_long(1)}};
        for (int level = 0; level < 2'000; ++level)
            fields.push_back({"in", {core::Kind::table, core::Table{&fields.back(), 1}}});
        core::Properties properties;
        properties.headers = core::Table{&fields.back(), 1};
        peer.deliver(channel, 1, "deep", properties);
    }

    /// Behind a cancel, without requeue; and nothing is done with it before or after.
    bool rejected() {
        std::vector<amqp_method_number_t> methods;
        bool requeued = false;
        while (const auto method = peer.received()) {
            const bool settles = method->id == AMQP_BASIC_NACK_METHOD || method->id == AMQP_BASIC_REJECT_METHOD;
            if (method->id == AMQP_BASIC_REJECT_METHOD) requeued = method->as<amqp_basic_reject_t>().requeue;
            if (settles || method->id == AMQP_BASIC_CANCEL_METHOD) methods.push_back(method->id);
        }
        return !requeued &&
               methods == std::vector<amqp_method_number_t>{AMQP_BASIC_CANCEL_METHOD, AMQP_BASIC_REJECT_METHOD};
    }
    bool gave_back() {
        bool cancelled = false;
        while (const auto method = peer.received()) {
            cancelled = cancelled || method->id == AMQP_BASIC_CANCEL_METHOD;
            if (method->id == AMQP_BASIC_NACK_METHOD) return cancelled && method->as<amqp_basic_nack_t>().requeue;
        }
        return false;
    }
};

core::SteadyTime after(core::Milliseconds time) {
    return system::steady_now() + time;
}

}  // namespace

TEST_CASE("the head of a queue: one that can be handed over goes back, behind a cancel") {
    Look s;
    s.answer_qos();
    s.answer_consume();
    s.peer.deliver(channel, 7, "body");
    CHECK(s.head->look() == HeadProbe::Sees::message);
    CHECK(s.gave_back());
}

TEST_CASE("the head of a queue: a connection that the broker ends with 541 has met what it cannot hand over") {
    Look s;
    s.answer_qos();
    s.answer_consume();
    s.close_connection(541);
    CHECK(s.head->look() == HeadProbe::Sees::connection_closed);
}

TEST_CASE("the head of a queue: a connection that ends with 541 because the queue has no leader says nothing of it") {
    for (const char* const words :
         {"timed out consuming from quorum queue 'errors' in vhost '/': {'%2F_errors',\n 'a@b'}",
          "failed consuming from quorum queue 'errors' in vhost '/': noproc"}) {
        CAPTURE(words);
        Look s;
        s.answer_qos();
        const std::string text = std::string("INTERNAL_ERROR - ") + words;
        s.close_connection(541, text);
        CHECK_THROWS_AS(s.head->look(), Error);
    }
}

TEST_CASE("the head of a queue: a connection that ends for another reason says nothing of it") {
    Look forced;
    forced.close_connection(320);
    CHECK_THROWS_AS(forced.head->look(), Error);
    Look lost;
    lost.answer_qos();
    lost.peer.vanish();
    CHECK_THROWS_AS(lost.head->look(), Error);
}

TEST_CASE("the head of a queue: where nothing comes and the broker answers, there is nothing") {
    Look s;
    s.answer_qos();
    s.answer_consume();
    s.answer_qos();  // the second question
    CHECK(s.head->look() == HeadProbe::Sees::nothing);
}

TEST_CASE("the head of a queue: where nothing comes and the broker does not answer, it is busy with what is there") {
    Look s;
    s.become_silent();
    CHECK(s.head->keep_waiting(after({})));
    CHECK(s.head->keep_waiting(after(core::Milliseconds{60'000})));
    CHECK_FALSE(s.gave_back());
}

TEST_CASE("a held head: what comes after all goes back, and it is of no use any more") {
    Look s;
    s.become_silent();
    s.peer.deliver(channel, 1, "deep");
    const core::SteadyTime came = after({});
    CHECK(s.head->keep_waiting(came));
    CHECK(s.gave_back());
    CHECK(s.head->keep_waiting(came + core::Milliseconds{100}));  // the queue must have got the nack before it ends
    CHECK_FALSE(s.head->keep_waiting(came + core::Milliseconds{1'000}));
}

TEST_CASE("the head of a queue: one that cannot be read is dead-lettered where that is asked for") {
    Look s(Unreadable::dead_lettered);
    s.answer_qos();
    s.answer_consume();
    s.deliver_deep();
    CHECK(s.head->look() == HeadProbe::Sees::message);
    CHECK(s.head->dead_lettered());
    CHECK(s.rejected());
}

TEST_CASE("a held head: one that cannot be read is dead-lettered where that is asked for") {
    Look s(Unreadable::dead_lettered);
    s.become_silent();
    s.deliver_deep();
    const core::SteadyTime came = after({});
    // Where rabbitmq-c could read it, the queue must have got the rejection before the connection ends.
    CHECK(s.head->keep_waiting(came) == (amqp_version_number() < AMQP_VERSION_CODE(0, 14, 0, 0)));
    CHECK_FALSE(s.head->keep_waiting(came + core::Milliseconds{1'000}));
    CHECK(s.head->dead_lettered());
    CHECK(s.rejected());
}

TEST_CASE("a held head: one that cannot be read is not dead-lettered where that is not asked for") {
    Look s;
    s.become_silent();
    s.deliver_deep();
    s.head->keep_waiting(after({}));
    CHECK_FALSE(s.head->dead_lettered());
    CHECK_FALSE(s.rejected());
}

TEST_CASE("a held head: one that can be read goes back also where others are dead-lettered") {
    Look s(Unreadable::dead_lettered);
    s.become_silent();
    s.peer.deliver(channel, 1, "late");
    s.head->keep_waiting(after({}));
    CHECK_FALSE(s.head->dead_lettered());
    CHECK(s.gave_back());
}

TEST_CASE("held heads: each that is dead-lettered is told once") {
    BlockedHeadConnections blocked;
    std::vector<std::unique_ptr<Look>> looks;
    for (int i = 0; i < 3; ++i) {
        looks.push_back(std::make_unique<Look>(Unreadable::dead_lettered));
        looks.back()->become_silent();
        REQUIRE(blocked.keep(std::move(looks.back()->head)));
    }
    looks[0]->deliver_deep();
    looks[2]->deliver_deep();
    const core::SteadyTime now = after({});
    blocked.turn(now);
    CHECK(blocked.take_dead_lettered() == 2);
    blocked.turn(now + core::Milliseconds{1'000});
    CHECK(blocked.take_dead_lettered() == 0);
    CHECK(blocked.size() == 1);
}

TEST_CASE("held heads: one that was just rejected is not released before the queue has got that") {
    BlockedHeadConnections blocked;
    std::vector<std::unique_ptr<Look>> looks;
    for (int i = 0; i < 2; ++i) {
        looks.push_back(std::make_unique<Look>(Unreadable::dead_lettered));
        looks.back()->become_silent();
        REQUIRE(blocked.keep(std::move(looks.back()->head)));
    }
    looks[0]->deliver_deep();
    const core::SteadyTime now = after({});
    blocked.turn(now);
    const bool goes_on = amqp_version_number() < AMQP_VERSION_CODE(0, 14, 0, 0);  // else the connection is over
    blocked.release();
    CHECK(blocked.size() == (goes_on ? 1 : 0));
    blocked.turn(now + core::Milliseconds{1'000});
    CHECK(blocked.size() == 0);
}

TEST_CASE("a held head: a broker that was only slow is let go of") {
    Look s;
    s.become_silent();
    s.answer_qos();
    const core::SteadyTime answered = after({});
    CHECK(s.head->keep_waiting(answered));
    CHECK_FALSE(s.head->keep_waiting(answered + core::Milliseconds{1'000}));
}

TEST_CASE("a held head: one whose connection is lost is of no use") {
    Look s;
    s.become_silent();
    s.peer.vanish();
    CHECK_FALSE(s.head->keep_waiting(after({})));
}

TEST_CASE("held heads: as many as it takes, one more is dropped, and what is done with makes room") {
    BlockedHeadConnections blocked;
    std::vector<std::unique_ptr<Look>> looks;
    const auto keep = [&] {
        looks.push_back(std::make_unique<Look>());
        return blocked.keep(std::move(looks.back()->head));
    };
    for (std::size_t i = 0; i < BlockedHeadConnections::most; ++i)
        REQUIRE(keep());
    CHECK_FALSE(keep());
    CHECK(blocked.size() == BlockedHeadConnections::most);
    looks[5]->peer.vanish();
    const core::SteadyTime now = after({});
    blocked.turn(now);
    CHECK(blocked.size() == BlockedHeadConnections::most - 1);
    CHECK(keep());
    looks[6]->peer.vanish();
    blocked.turn(now);  // not every turn of the loop looks at each
    CHECK(blocked.size() == BlockedHeadConnections::most);
    blocked.turn(now + core::Milliseconds{100});
    CHECK(blocked.size() == BlockedHeadConnections::most - 1);
    blocked.release();
    CHECK(blocked.size() == 0);
}

}  // namespace retryd::amqp::poison_head_test
