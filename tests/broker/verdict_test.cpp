// `verdict`: the consumer says when a message that it gives up is tried again.
#include <string>

#include "support/catch.h"
#include "support/command_line.h"
#include "support/other_protocols.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

struct Verdicts : Scenario {
    Verdicts() : heard(quorum_work_queue("heard")), unheard(quorum_work_queue("unheard")) {
        retry(heard, {"50ms", "5s"});
        entry().verdict = true;
        retry(unheard, {"50ms", "5s"});
        start();
    }

    std::string heard;
    std::string unheard;
};

bool says_anything(const Received& message) {
    return find(message.headers, "x-opt-retry") || find(message.headers, "x-opt-retry-after") ||
           find(message.headers, "x-opt-retry-reason");
}

}  // namespace

TEST_CASE("a consumer of AMQP 1.0 says how long to wait, and what it has said is gone when the message comes home",
          "[two-versions][since-4.0]") {
    Verdicts s;
    s.client.publish("", s.heard, {.body = "later", .headers = {{"kept", longstr("yes")}}});
    amqp10::take_and_give_up(
        s.heard, {{"x-opt-retry-after", amqp10::ulong(1)}, {"x-opt-retry-reason", amqp10::text("rate limited")}});
    CHECK(s.await_depth(s.rung(s.heard, "5s"), 1));
    Worker worker(s.heard);
    const Received back = worker.receive();
    CHECK(back.body == "later");
    CHECK_FALSE(says_anything(back));
    CHECK(text_header(back, "kept") == "yes");
    CHECK(long_header(back, "retryd-attempt") == 1);
    s.stop();
}

TEST_CASE("a consumer of AMQP 1.0 says never: parked at once, with what it said of why; replayed it is as new",
          "[two-versions][since-4.0]") {
    Verdicts s;
    s.client.publish("", s.heard, {.body = "never"});
    amqp10::take_and_give_up(
        s.heard, {{"x-opt-retry", amqp10::text("never")}, {"x-opt-retry-reason", amqp10::text("no such customer")}});
    REQUIRE(s.await_depth(s.parking_of(s.heard), 1));
    const std::string selected = " --queue " + s.heard + " -c " + s.daemon.config_file();
    const CommandResult shown = run_retryd("parked show" + selected);
    CHECK(shown.says({"consumer-verdict"}));
    CHECK(shown.says({"no such customer"}));
    CHECK(run_retryd("parked replay" + selected).code == 0);
    Worker worker(s.heard);
    worker.reject(worker.receive());
    CHECK(long_header(worker.receive(), "retryd-attempt") == 1);
    s.stop();
}

TEST_CASE("what a message says of its retry counts where the entry listens, and else stays as it is", "[one-version]") {
    Verdicts s;
    const Table never = {{"x-opt-retry", longstr("never")}};
    Worker heard(s.heard);
    s.client.publish("", s.heard, {.body = "never", .headers = never});
    heard.reject(heard.receive());
    CHECK(text_header(s.take(s.parking_of(s.heard)), "retryd-parked-reason") == "consumer-verdict");
    Worker unheard(s.unheard);
    s.client.publish("", s.unheard, {.body = "again", .headers = never});
    unheard.reject(unheard.receive());
    const Received back = unheard.receive();
    CHECK(long_header(back, "retryd-attempt") == 1);
    CHECK(text_header(back, "x-opt-retry") == "never");
    s.stop();
}
