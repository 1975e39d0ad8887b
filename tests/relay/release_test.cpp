// Held messages on their way home: in their order, so many as may be sent, acked when they are there.
#include "relay/release.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/names.h"
#include "core/proof.h"
#include "support/catch.h"

namespace retryd::relay::release_test {
namespace {

using Tags = std::vector<core::DeliveryTag>;
using Lines = std::vector<std::string>;

class Port : public ReleasePort {
  public:
    PublishResult publish(const core::Publication& publication) override {
        if (blocked) return PublishResult::would_block;
        if (publication.message.body == too_large) return PublishResult::header_too_large;
        published.push_back(std::string{publication.exchange} + '/' + std::string{publication.routing_key} + ' ' +
                            std::string{publication.message.body});
        headers.emplace_back();
        for (const core::Field& field : publication.message.properties.header_table())
            headers.back().emplace_back(field.name);
        return PublishResult::sent;
    }
    void ack(core::DeliveryTag tag, bool multiple) override {
        for (core::DeliveryTag each = multiple ? acked_to + 1 : tag; each <= tag; ++each)
            acked.push_back(each);
        if (multiple) acked_to = tag;
    }
    void requeue(core::DeliveryTag tag) override { requeued.push_back(tag); }

    Lines published;
    std::vector<Lines> headers;
    Tags acked;
    Tags requeued;
    core::DeliveryTag acked_to = 0;
    bool blocked = false;
    std::string too_large = "none";
};

struct Fixture {
    explicit Fixture(bool through_return = false, bool only_proven = false)
        : release({"email.held", "retryd.parked", through_return, "retryd", core::test::proof_keys, only_proven},
                  port) {}

    void deliver(const std::string& body, const std::string& queue = "email", bool forged = false) {
        std::vector<core::Field> fields{{"retryd-queue", core::Value::of_longstr(queue)},
                                        {"retryd-attempt", core::Value::of_long(1)},
                                        {"retryd-routing-key", core::Value::of_longstr("order.paid")},
                                        {"retryd-held-since", core::Value::of_timestamp(1'800'000'000)},
                                        {"x-delivery-count", core::Value::of_long(3)}};
        core::ProofText proof;
        if (!forged) fields.push_back(core::test::proof_of({fields.data(), fields.size()}, proof));
        core::Delivery delivery;
        delivery.tag = ++tags;
        delivery.message.body = body;
        delivery.message.properties.headers = core::Table{fields.data(), fields.size()};
        release.on_delivery(delivery);
    }
    void pass(core::Milliseconds time) {
        now.steady += time;
        release.on_tick(now);
    }

    core::Now now{core::WallTime{core::Milliseconds{1'800'000'000'000}},
                  core::SteadyTime{core::Milliseconds{1'000'000}}};
    core::DeliveryTag tags = 0;
    Port port;
    Release release;
};

bool has(const Lines& lines, const std::string& line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
}

}  // namespace

TEST_CASE("held messages go to their work queue in their order, no more than may be sent") {
    Fixture f;
    for (const char* body : {"a", "b", "c"})
        f.deliver(body);
    CHECK(f.release.send(2, f.now) == 2);
    CHECK(f.port.published == Lines{"/email a", "/email b"});
    CHECK(f.release.waiting() == 1);
    CHECK(f.port.acked.empty());
    f.release.on_confirm(2, true, true, f.now);
    f.release.on_tick(f.now);
    CHECK(f.port.acked == Tags{1, 2});
    CHECK(f.release.counts().home == 2);
    CHECK(f.release.send(5, f.now) == 1);
}

TEST_CASE("since when it was held stays on a message, what the broker added does not") {
    Fixture f;
    f.deliver("a");
    f.release.send(1, f.now);
    CHECK(has(f.port.headers[0], "retryd-held-since"));
    CHECK(has(f.port.headers[0], "retryd-attempt"));
    CHECK(!has(f.port.headers[0], "x-delivery-count"));
}

TEST_CASE("of a shared ladder through the return exchange, with the producer's routing key") {
    Fixture f(true);
    f.deliver("a");
    f.release.send(1, f.now);
    CHECK(f.port.published == Lines{"retryd.return/order.paid a"});
}

TEST_CASE("the work queue is gone: parked in the catch-all as queue-gone, and acked only then") {
    Fixture f;
    f.deliver("a");
    f.release.send(1, f.now);
    f.release.on_returned("", "email");
    f.release.on_confirm(1, false, true, f.now);
    f.release.on_tick(f.now);
    CHECK(f.port.acked.empty());
    f.release.send(0, f.now);
    CHECK(f.port.published == Lines{"/email a", "/retryd.parked a"});
    CHECK(has(f.port.headers[1], "retryd-parked-reason"));
    CHECK(!has(f.port.headers[1], "retryd-held-since"));
    f.release.on_confirm(2, false, true, f.now);
    f.release.on_tick(f.now);
    CHECK(f.port.acked == Tags{1});
    CHECK(f.release.counts().parked == 1);
}

TEST_CASE("the work queue refuses: the message stays in its place, and nothing is sent for a while") {
    Fixture f;
    f.deliver("a");
    f.deliver("b");
    f.release.send(1, f.now);
    f.release.on_confirm(1, false, false, f.now);
    CHECK(f.release.send(1, f.now) == 0);
    f.pass(core::Milliseconds{1'000});
    CHECK(f.release.send(1, f.now) == 1);
    CHECK(f.port.published == Lines{"/email a", "/email a"});
    CHECK(f.port.requeued.empty());
    CHECK(f.port.acked.empty());
}

TEST_CASE(
    "the work queue refuses for hours: the message does not go back so often that a delivery limit throws it out") {
    constexpr std::size_t least_delivery_limit_of_rabbitmq_4 = 20;
    Fixture f;
    f.deliver("a");
    PublishSeq seq = 0;
    for (int minutes = 0; minutes < 6 * 60; ++minutes) {
        if (f.release.empty()) f.deliver("a");  // the broker gives it out again
        f.pass(core::Milliseconds{60'000});
        if (f.release.send(1, f.now) == 1) f.release.on_confirm(++seq, false, false, f.now);
    }
    CHECK(seq > 300);
    CHECK(!f.port.requeued.empty());  // before the broker takes it back
    CHECK(f.port.requeued.size() < least_delivery_limit_of_rabbitmq_4);
}

TEST_CASE("the catch-all refuses what has no home: it stays in its place") {
    Fixture f;
    f.deliver("a");
    f.release.send(1, f.now);
    f.release.on_returned("", "email");
    f.release.on_confirm(1, false, true, f.now);
    f.release.send(0, f.now);
    f.release.on_confirm(2, false, false, f.now);
    CHECK(f.port.requeued.empty());
    CHECK(f.port.acked.empty());
    CHECK(f.release.waiting() == 1);
}

TEST_CASE("a broker that takes nothing: nothing is sent, nothing is lost") {
    Fixture f;
    f.deliver("a");
    f.port.blocked = true;
    CHECK(f.release.send(5, f.now) == 0);
    f.port.blocked = false;
    CHECK(f.release.send(5, f.now) == 1);
}

TEST_CASE("a message that waits for its turn is given back before the broker takes it") {
    Fixture f;
    f.deliver("a");
    f.pass(core::Milliseconds{0});
    f.pass(core::Milliseconds{19 * 60'000});
    CHECK(f.port.requeued.empty());
    f.pass(core::Milliseconds{60'000});
    CHECK(f.port.requeued == Tags{1});
}

TEST_CASE("what cannot be read or published stays, and those behind it go home") {
    Fixture f;
    f.port.too_large = "large";
    f.deliver("large");
    f.release.on_unreadable_delivery(++f.tags);
    f.deliver("a");
    CHECK(f.release.send(5, f.now) == 1);
    CHECK(f.port.published == Lines{"/email a"});
    CHECK(f.release.stays() == 2);
    f.release.on_confirm(1, false, true, f.now);
    f.pass(core::Milliseconds{0});
    CHECK(f.port.acked == Tags{3});
    CHECK(f.release.empty());
    CHECK(f.port.requeued.empty());
    f.pass(core::Milliseconds{20 * 60'000});  // before the broker takes them
    CHECK(f.port.requeued == Tags{2, 1});
    CHECK(f.release.stays() == 0);
}

TEST_CASE("a queue that only looks like one of held messages: what cannot be read is not of retryd") {
    Fixture f(false, true);
    f.release.on_unreadable_delivery(++f.tags);
    CHECK(f.release.foreign());
}

TEST_CASE("a publication that is never answered: the channels are to be opened anew") {
    Fixture f;
    f.deliver("a");
    f.release.send(1, f.now);
    CHECK(!f.release.stuck(f.now.steady));
    f.pass(core::Milliseconds{20 * 60'000});
    CHECK(f.release.stuck(f.now.steady));
}

TEST_CASE("a forged header does not lead a held message elsewhere") {
    Fixture f;
    f.deliver("a", "other");
    f.release.send(1, f.now);
    CHECK(f.port.published == Lines{"/email a"});
}

TEST_CASE("what anybody may have written goes to no exchange that goes by it") {
    Fixture f(true);
    f.deliver("a", "email", true);
    f.release.send(1, f.now);
    CHECK(f.port.published == Lines{"/email a"});
}

TEST_CASE("a queue that only looks like one of held messages: what retryd has put there goes home, nothing else") {
    Fixture f(false, true);
    f.deliver("ours");
    f.deliver("theirs", "email", true);
    f.deliver("ours, behind");
    CHECK(f.release.send(3, f.now) == 1);
    CHECK(f.port.published == Lines{"/email ours"});
    CHECK(f.release.foreign());
    CHECK(f.release.send(3, f.now) == 0);
    CHECK(f.port.requeued.empty());
    CHECK(f.port.acked.empty());
}

TEST_CASE("a work queue with a very long name is found by what its messages say") {
    const std::string work_queue(253, 'q');
    const std::string held = core::held_name(work_queue);
    CHECK(held.size() <= 255);
    const core::Field field{"retryd-queue", core::Value::of_longstr(work_queue)};
    CHECK(Release::work_queue_of(core::Table{&field, 1}, held) == work_queue);
}

}  // namespace retryd::relay::release_test
