#include "commands/parked/browse_queue.h"

#include "commands/fake_broker.h"
#include "commands/parked/parked_queues.h"
#include "support/catch.h"

// A queue that does not answer the broker within a quarter of a second counts as empty in the answer to us. A slow 0 is
// none: it is asked again.

namespace retryd::commands::browse_queue_test {
namespace {

using core::Milliseconds;
using core::SteadyTime;

/// A broker whose queue answers after `delay`, on a clock of its own.
class Scene {
  public:
    Scene() {
        broker.before_answer = [this](const std::string& step) {
            if (step == check) broker.time += delay;
        };
    }

    void say(std::uint32_t messages) { broker.count(check, {messages, 0}); }
    BrowsePermission look() { return may_browse(broker, nullptr, "email.parked", true); }
    std::size_t times_asked() const { return broker.asked.size(); }

    const std::string check = "check queue email.parked";
    FakeBroker broker;
    Milliseconds delay{1};
};

/// A look that waits for messages.
class WaitingLook : public Scene {
  public:
    /// Asks every tenth of a second of the scene's time. Whether it gave up.
    bool gives_up_within(Milliseconds time, std::size_t delivered) {
        for (const SteadyTime until = broker.time + time; broker.time < until; broker.time += Milliseconds{100}) {
            if (detector.stalled(delivered)) return true;
        }
        return false;
    }

    StallDetector detector{broker, "email.parked"};
};

constexpr Milliseconds slow{250};

}  // namespace

TEST_CASE("a queue that says quickly and twice that it is empty is believed") {
    Scene s;
    s.say(0);
    const BrowsePermission permission = s.look();
    CHECK(permission.allowed);
    CHECK(permission.messages == 0);
    CHECK(s.times_asked() == 2);
}

TEST_CASE("a queue that says 0 because it is busy is asked until it has the time to count") {
    Scene s;
    s.say(0);
    s.delay = slow;
    const auto pass_time = s.broker.before_answer;
    s.broker.before_answer = [&](const std::string& step) {
        pass_time(step);
        if (s.times_asked() == 10) s.say(1'000'000);
    };
    const BrowsePermission permission = s.look();
    CHECK(permission.allowed);
    CHECK(permission.messages == 1'000'000);
}

TEST_CASE("what a look that has just ended still has in hand is waited for") {
    Scene s;
    s.broker.count(s.check, {0, 1});
    const SteadyTime begun = s.broker.time;
    s.broker.before_answer = [&](const std::string&) {
        if (s.broker.time - begun >= Milliseconds{300}) s.broker.count(s.check, {7, 1});
    };
    CHECK(s.look().messages == 7);
}

TEST_CASE("a queue that somebody else has in hand for long is waited for a second, and then it is told") {
    Scene s;
    s.broker.count(s.check, {0, 1});
    const SteadyTime begun = s.broker.time;
    const BrowsePermission permission = s.look();
    CHECK(permission.messages == 0);
    CHECK(permission.consumers == 1);
    CHECK(s.broker.time - begun > Milliseconds{900});
    CHECK(s.broker.time - begun < Milliseconds{1'100});
}

TEST_CASE("a queue that is busy for long is not taken for an empty one: the look says so") {
    Scene s;
    s.say(0);
    s.delay = slow;
    const BrowsePermission permission = s.look();
    CHECK(permission.exists);
    CHECK_FALSE(permission.allowed);
    CHECK(permission.why_not.find("could not ask the queue in time") != std::string::npos);
    CHECK(s.times_asked() == 40);
}

TEST_CASE("a slow 0 between two quick ones counts for nothing") {
    Scene s;
    s.say(0);
    s.broker.before_answer = [&](const std::string&) {
        s.broker.time += s.times_asked() == 2 ? slow : Milliseconds{1};
    };
    CHECK(s.look().allowed);
    CHECK(s.times_asked() == 4);
}

TEST_CASE("a look that gets nothing more of a queue that says quickly that it is empty ends without a fault") {
    WaitingLook s;
    s.say(0);
    CHECK(s.gives_up_within(Milliseconds{15'000}, 65'535));
    CHECK(s.detector.reason().empty());
}

TEST_CASE("a look that gets nothing for a while from a busy broker goes on waiting, a minute at least") {
    WaitingLook s;
    s.say(0);
    s.delay = slow;
    CHECK_FALSE(s.gives_up_within(Milliseconds{60'000}, 65'535));
    CHECK_FALSE(s.gives_up_within(Milliseconds{60'000}, 65'600));  // something has come: the time begins anew
    CHECK(s.gives_up_within(Milliseconds{60'000}, 65'600));
    CHECK(s.detector.reason().find("too busy") != std::string::npos);
}

TEST_CASE("a look that has got nothing yet from a busy broker waits as long") {
    WaitingLook s;
    s.say(0);
    s.delay = slow;
    CHECK_FALSE(s.gives_up_within(Milliseconds{60'000}, 0));
    CHECK(s.gives_up_within(Milliseconds{60'000}, 0));
}

TEST_CASE("a look that gets nothing at all while messages are there says that another consumer may have them") {
    WaitingLook s;
    s.say(7);
    CHECK(s.gives_up_within(Milliseconds{15'000}, 0));
    CHECK(s.detector.reason().find("7 messages are there that the broker does not give to us") == 0);
}

}  // namespace retryd::commands::browse_queue_test
