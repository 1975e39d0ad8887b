// A parking exchange with the keys of the producers leads to many queues. What one of them refuses concerns the work
// queue whose messages it refuses, and no other that parks there.
#include <algorithm>

#include "relay/relay_fixture.h"
#include "support/catch.h"

namespace retryd::relay::parking_exchange_test {
namespace {

using Tags = std::vector<core::DeliveryTag>;
using Lines = std::vector<std::string>;
using core::Milliseconds;

/// `email` and `sms` park in the same exchange, whose keys lead to a queue each.
core::Policy two_of_one_exchange() {
    core::Policy policy;
    for (const char* const work_queue : {"email", "sms"})
        policy.entries.push_back({work_queue, {"l", {Milliseconds{1000}}}, {"", "team.dlx", std::nullopt}});
    return policy;
}

struct TwoQueues : Fixture {
    TwoQueues() : Fixture(two_of_one_exchange()) {
        for (const char* const key : {"mail", "text"}) {
            broker.exchanges[std::string{"team.dlx/"} + key] = key;
            broker.queues[key];
        }
        broker.exchanges["team.dlx"] = "not there";
    }

    core::DeliveryTag use_up(const std::string& work_queue, const std::string& routing_key) {
        DeadMessage dead{work_queue, "rejected", work_queue, 1};
        dead.routing_key = routing_key;
        return deliver(dead);
    }

    /// What comes back from the broker at once, too.
    void use_up_refused(int messages) {
        for (int i = 0; i < messages; ++i) {
            use_up("email", "mail");
            confirm_all();
        }
    }

    long lines_with(const std::string& beginning) const {
        return std::count_if(reporter.lines.begin(), reporter.lines.end(),
                             [&](const auto& line) { return line.starts_with(beginning); });
    }
};

}  // namespace

TEST_CASE("the parking exchange of many work queues is looked for once") {
    TwoQueues f;
    const auto asked = [&] {
        return std::count_if(f.broker.declares.begin(), f.broker.declares.end(),
                             [](const auto& declared) { return declared.key == "team.dlx"; });
    };
    CHECK(asked() == 1);
    f.use_up("email", "mail");
    f.use_up("sms", "text");
    CHECK(asked() == 1);
    f.answer_declares();
    CHECK(f.lying_in("mail") == 1);
    CHECK(f.lying_in("text") == 1);
}

TEST_CASE("a key whose queue refuses sends no other work queue's messages to the catch-all") {
    TwoQueues f;
    f.answer_declares();
    f.broker.full.insert("mail");
    f.use_up_refused(100);
    CHECK(f.lying_in("retryd.parked") > 90);
    CHECK(f.lying_in("retryd.parked") + f.broker.requeued.size() == 100);
    const std::size_t of_email = f.lying_in("retryd.parked");
    for (int i = 0; i < 20; ++i) {
        f.use_up("sms", "text");
        f.confirm_all();
    }
    CHECK(f.lying_in("text") == 20);
    CHECK(f.lying_in("retryd.parked") == of_email);
    f.broker.full.clear();
    f.pass(Milliseconds{31'000});
    f.use_up_refused(2);
    CHECK(f.lying_in("mail") == 2);
}

TEST_CASE("a key whose queue is silent holds up no other work queue's parking") {
    TwoQueues f;
    f.answer_declares();
    f.broker.silent.insert("mail");
    for (int i = 0; i < 20; ++i)
        f.use_up("email", "mail");
    for (int i = 0; i < 20; ++i) {
        f.use_up("sms", "text");
        f.confirm_all();
    }
    CHECK(f.lying_in("text") == 20);
    for (int i = 0; i < 60; ++i) {
        f.confirm_all();
        f.pass(Milliseconds{100});
    }
    CHECK(f.lines_with("silent team.dlx") == 1);
    CHECK(f.relay.in_flight_in_silence() == 4);
}

TEST_CASE("keys that lead nowhere are no trouble of the exchange, however many: other keys are parked there") {
    TwoQueues f;
    f.answer_declares();
    for (int i = 0; i < 10; ++i) {
        f.use_up("email", "odd." + std::to_string(i));
        f.confirm_all();
    }
    CHECK(f.broker.requeued.size() == 10);
    f.use_up("email", "mail");
    f.confirm_all();
    f.use_up("email", "odd.3");
    CHECK(f.lying_in("mail") == 1);
    CHECK(f.lying_in("retryd.parked") == 1);
}

TEST_CASE("a parking exchange that is missing is missing for all work queues, said once, and found again for all") {
    TwoQueues f;
    f.broker.refused.insert("team.dlx");
    f.answer_declares();
    f.use_up("email", "mail");
    f.use_up("sms", "text");
    f.confirm_all();
    CHECK(f.lying_in("retryd.parked") == 2);
    CHECK(f.lines_with("refused team.dlx") == 1);
    f.broker.refused.clear();
    f.pass(Milliseconds{60'000});
    f.use_up("sms", "text");
    f.use_up("email", "mail");
    CHECK(std::count_if(f.broker.declares.begin(), f.broker.declares.end(),
                        [](const auto& declared) { return declared.key.ends_with("team.dlx"); }) == 1);
    f.answer_declares();
    f.confirm_all();
    CHECK(f.lying_in("mail") == 1);
    CHECK(f.lying_in("text") == 1);
    CHECK(f.lines_with("healed team.dlx") == 1);
}

TEST_CASE("a parking exchange that is deleted: whoever parks there asks for it again, once") {
    TwoQueues f;
    f.answer_declares();
    f.use_up("email", "mail");
    f.close_publishing(404, "NOT_FOUND - no exchange 'team.dlx' in vhost '/'");
    CHECK(f.broker.requeued == Tags{1});
    f.use_up("sms", "text");
    f.use_up("email", "mail");
    CHECK(std::count_if(f.broker.declares.begin(), f.broker.declares.end(),
                        [](const auto& declared) { return declared.key.ends_with("team.dlx"); }) == 1);
    CHECK(f.relay.in_flight() == 0);
    f.answer_declares();
    CHECK(f.lying_in("text") == 1);
    CHECK(f.lying_in("mail") == 2);
}

TEST_CASE("a routing key that may not be published to a topic exchange blames no other exchange, and is told once") {
    core::Policy policy = two_of_one_exchange();
    core::Ladder shared{"shared", {Milliseconds{1000}}};
    shared.return_path = core::ReturnPath::headers;
    policy.entries.push_back({"web", shared, {"{queue}.parked"}});
    TwoQueues f;
    f.adopt(policy);
    f.answer_declares();
    f.answer_binds();
    for (const char* const key : {"exchange 'retryd.shared.1s' in vhost '", "a", "b"}) {
        f.use_up("email", key);
        f.close_publishing(403, "ACCESS_REFUSED - write access to topic '" + std::string{key} +
                                    "' in exchange 'team.dlx' in vhost '/' refused for user 'retryd'");
        f.pass(Milliseconds{60'000});
        f.answer_declares();
    }
    CHECK(f.lines_with("refused retryd.shared.1s") == 0);
    CHECK(f.lines_with("refused team.dlx") == 1);
}

TEST_CASE("another policy keeps what is known of each work queue's way through a parking exchange") {
    TwoQueues f;
    f.answer_declares();
    f.broker.full.insert("mail");
    f.use_up_refused(10);
    const std::size_t of_email = f.lying_in("retryd.parked");
    f.relay.prepare_to_adopt();
    f.adopt(two_of_one_exchange());
    CHECK(f.broker.declares.empty());
    f.use_up("email", "mail");
    f.use_up("sms", "text");
    CHECK(f.lying_in("retryd.parked") == of_email + 1);
    CHECK(f.lying_in("text") == 1);
}

}  // namespace retryd::relay::parking_exchange_test
