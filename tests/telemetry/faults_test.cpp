// The faults that last at this moment.
#include "telemetry/faults.h"

#include "support/catch.h"
#include "telemetry/log_reporter.h"

namespace retryd::telemetry::faults_test {
namespace {

std::vector<std::string> texts_of(const Faults& faults) {
    std::vector<std::string> texts;
    for (const LastingFault& fault : faults.all())
        texts.push_back(fault.text);
    return texts;
}

}  // namespace

TEST_CASE("faults: raised again, a fault keeps the moment at which it began and gets another text") {
    Faults faults;
    faults.raise("a", "one");
    const core::WallTime since = faults.all().at(0).since;
    faults.raise("a", "two");
    REQUIRE(faults.all().size() == 1);
    CHECK(faults.all()[0].since == since);
    CHECK(faults.all()[0].text == "two");
    faults.clear("b");
    CHECK(faults.all().size() == 1);
    faults.clear("a");
    CHECK(faults.all().empty());
}

TEST_CASE("faults: the same name refused as a rung and as a binding is two faults, which end with their reporter") {
    Faults faults;
    Log log({config::LogLevel::error, config::LogFormat::text}, Log::Sink::plain);
    {
        LogReporter reporter(log, faults);
        reporter.requeued({relay::TargetRole::rung, "x"}, relay::RequeueCause::nacked, core::Milliseconds{1});
        reporter.refused(relay::TargetRole::rung, "x", "it has other arguments");
        reporter.refused(relay::TargetRole::return_binding, "x", "no permission");
        CHECK(faults.all().size() == 3);
        reporter.healed(relay::TargetRole::return_binding, "x");
        reporter.settled({relay::Outcome::retried, "email", "x", "rejected", {}, {}, {}});
        CHECK(
            texts_of(faults) ==
            std::vector<std::string>{
                "it has other arguments. While that lasts, messages for 'x' are parked as "
                "unpublishable; if it was there before, since retryd started, they wait in the queues retryd.detour.*. "
                "It is tried again every minute"});
    }
    CHECK(faults.all().empty());
}

TEST_CASE("faults: what was refused is none any more once the configuration does not name it") {
    Faults faults;
    Log log({config::LogLevel::error, config::LogFormat::text}, Log::Sink::plain);
    LogReporter reporter(log, faults);
    reporter.refused(relay::TargetRole::rung, "x", "it has other arguments");
    reporter.not_needed(relay::TargetRole::rung, "x");
    CHECK(faults.all().empty());
}

}  // namespace retryd::telemetry::faults_test
