// What the operator reads of the flow: whole lines, since they are all there is at 3 a.m.
#include "telemetry/log_reporter.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>

#include "support/catch.h"

namespace retryd::telemetry::log_reporter_test {
namespace {

using core::Milliseconds;
using relay::Outcome;
using relay::RequeueCause;
using relay::TargetRole;

/// What is written to standard error meanwhile, without the time at the beginning of each line.
std::string said(
    const std::function<void(LogReporter&)>& what, config::LogLevel level = config::LogLevel::info,
    const LogReporter::Clock& clock = [] { return core::SteadyTime{}; }) {
    std::FILE* file = std::tmpfile();
    REQUIRE(file != nullptr);
    const int standard_error = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    {
        Log log({level, config::LogFormat::text}, Log::Sink::journal);
        Faults faults;
        LogReporter reporter(log, faults, clock);
        what(reporter);
    }
    std::fflush(stderr);
    dup2(standard_error, STDERR_FILENO);
    close(standard_error);
    std::rewind(file);
    std::string text;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
        text.push_back(static_cast<char>(c));
    std::fclose(file);
    return text;
}

}  // namespace

TEST_CASE("single messages are said at debug only, each outcome in its own words") {
    const auto all = [](LogReporter& reporter) {
        reporter.settled({Outcome::retried, "email", "email.retry.5s", "rejected", {}, {}});
        reporter.settled({Outcome::parked, "email", "email.parked", "too-old", {}, {}});
        reporter.settled({Outcome::parked, "", "retryd.parked", "no-death", {}, {}});
        reporter.settled({Outcome::dropped, "email", "", "expired", {}, {}});
        reporter.settled({Outcome::returned_to_queue, "email", "retryd.return", "undelivered", {}, {}});
    };
    CHECK(said(all, config::LogLevel::error).empty());
    const std::string kept = ". They are kept there until somebody sends them back: retryd parked list\n";
    const std::string email = "<4>messages from 'email' begin to be parked in 'email.parked': too-old" + kept;
    const std::string unknown = "<4>messages of no known queue begin to be parked in 'retryd.parked': no-death" + kept;
    CHECK(said(all) == email + unknown);
    CHECK(said(all, config::LogLevel::debug) ==
          "<7>retrying a message from 'email' in 'email.retry.5s': rejected\n" + email +
              "<7>parked a message from 'email' in 'email.parked': too-old\n" + unknown +
              "<7>parked a message of no known queue in 'retryd.parked': no-death\n"
              "<7>dropped a message from 'email', as configured: expired\n"
              "<7>returned a message to 'email': its shared rung had not found the queue, which is bound again\n");
}

TEST_CASE("that parking begins is a line, that it goes on one every five minutes") {
    core::SteadyTime now{Milliseconds{1'000}};
    const auto park = [](LogReporter& reporter, int messages) {
        for (int n = 0; n < messages; ++n)
            reporter.settled({Outcome::parked, "email", "email.parked", "too-old", {}, {}, TargetRole::parking});
    };
    const std::string text = said(
        [&](LogReporter& reporter) {
            park(reporter, 3);
            now += Milliseconds{300'000};
            reporter.tick(now);
            park(reporter, 1);
            now += Milliseconds{300'000};
            reporter.tick(now);
            now += Milliseconds{300'000};
            reporter.tick(now);
            park(reporter, 1);
        },
        config::LogLevel::info, [&] { return now; });
    const std::string begins =
        "<4>messages from 'email' begin to be parked in 'email.parked': too-old. They are kept there until somebody "
        "sends them back: retryd parked list\n";
    CHECK(text == begins +
                      "<4>2 more messages from 'email' parked in 'email.parked' within 5 minutes: too-old\n"
                      "<4>1 more message from 'email' parked in 'email.parked' within 5 minutes: too-old\n" +
                      begins);
}

TEST_CASE("that parking begins is few lines, however many names of work queues somebody makes up") {
    core::SteadyTime now{Milliseconds{1'000}};
    const std::string text = said(
        [&](LogReporter& reporter) {
            for (int n = 0; n < 100; ++n) {
                const std::string queue = "made-up." + std::to_string(n);
                for (int message = 0; message < 2; ++message)
                    reporter.settled({Outcome::parked, queue, "parked", "too-old", {}, {}, TargetRole::parking});
            }
            now += Milliseconds{300'000};
            reporter.tick(now);
            reporter.report_suppressed(now);
        },
        config::LogLevel::info, [&] { return now; });
    CHECK(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) == 2 * LogRateLimiter::most_lines + 2);
    CHECK(text.find("90 more lines 'parking' of this log were held back") != std::string::npos);
    CHECK(text.find("90 more lines 'parking_goes_on' of this log were held back") != std::string::npos);
}

TEST_CASE("a queue whose messages begin to fail is told before any is parked") {
    core::SteadyTime now{Milliseconds{1'000}};
    const std::string text = said([&](LogReporter& reporter) {
        reporter.tick(now);
        for (int n = 0; n < 30; ++n)
            reporter.settled({Outcome::retried, "email", "email.retry.5s", "rejected", {}, {}});
        for (int minute = 0; minute < 3; ++minute)
            reporter.tick(now += Milliseconds{60'000});
    });
    CHECK(text ==
          "<4>messages from 'email' have begun to fail: 30 within a minute, usually 0. None is lost; see what its "
          "consumers say\n"
          "<6>messages from 'email' fail no more than usual: 0 within a minute, usually 0\n");
}

TEST_CASE("a refusal says what it means for messages, by what was refused") {
    const auto line = [](TargetRole role) {
        return said([&](LogReporter& reporter) { reporter.refused(role, "x", "because"); });
    };
    const std::string again = ". It is tried again every minute\n";
    CHECK(line(TargetRole::rung) ==
          "<3>because. While that lasts, messages for 'x' are parked as unpublishable; if it was there before, since "
          "retryd started, they wait "
          "in the queues retryd.detour.*" +
              again);
    const std::string parking =
        "<3>because. While that lasts, messages that should be parked in 'x' are parked in the catch-all queue" + again;
    CHECK(line(TargetRole::parking) == parking);
    CHECK(line(TargetRole::parking_exchange) == parking);
    CHECK(line(TargetRole::catch_all) ==
          "<3>because. While that lasts, messages that belong to no queue wait in the queues retryd.detour.*" + again);
    CHECK(line(TargetRole::detour) ==
          "<3>because. While that lasts, messages whose rung or parking queue takes none stay in the error queue, "
          "where they hold up others, and what comes from that queue without a proof of retryd's is parked in the "
          "catch-all queue" +
              again);
    CHECK(line(TargetRole::return_binding) ==
          "<3>because. Without it no shared rung finds the queue: while that lasts, "
          "its messages are parked as unpublishable" +
              again);
    CHECK(line(TargetRole::error_binding) ==
          "<3>because. While that lasts, messages that work queues dead-letter to 'x' do not reach retryd" + again);
    CHECK(line(TargetRole::return_exchange) ==
          "<3>because. While that lasts, messages that a shared rung could not deliver stay in the error queue" +
              again);
}

TEST_CASE("a queue that does not take messages is said once, and once when it does again") {
    const std::string lines = said([](LogReporter& reporter) {
        reporter.requeued({TargetRole::rung, "r"}, RequeueCause::nacked, Milliseconds{1000});
        reporter.requeued({TargetRole::rung, "r"}, RequeueCause::nacked, Milliseconds{2000});
        reporter.settled({Outcome::retried, "email", "r", "rejected", {}, {}});
        reporter.settled({Outcome::retried, "email", "r", "rejected", {}, {}});
    });
    CHECK(lines ==
          "<4>the broker refused (nacked) a message for queue 'r'; is a queue full (max-length with reject-publish: "
          "`retryd doctor` finds the policy), or without a leader (`rabbitmq-queues quorum_status`)? Meanwhile they "
          "wait in the queues retryd.detour.*, their attempt unspent, and hold up "
          "no others\n"
          "<6>'r' takes messages again\n");
}

TEST_CASE("what one work queue parks through an exchange may be refused, and what another parks there not") {
    const std::string lines = said([](LogReporter& reporter) {
        reporter.requeued({TargetRole::parking_exchange, "dlx", "email"}, RequeueCause::nacked, Milliseconds{0});
        reporter.settled({Outcome::parked, "sms", "dlx", "too-old", {}, {}, TargetRole::parking_exchange});
        reporter.requeued({TargetRole::parking_exchange, "dlx", "email"}, RequeueCause::nacked, Milliseconds{0});
        reporter.settled({Outcome::parked, "email", "dlx", "too-old", {}, {}, TargetRole::parking_exchange});
    });
    const std::string parked =
        " begin to be parked in 'dlx': too-old. They are kept there until somebody sends them back: retryd parked "
        "list\n";
    CHECK(lines ==
          "<4>the broker refused (nacked) a message for exchange 'dlx' (work queue 'email'); is a queue full "
          "(max-length with reject-publish: `retryd doctor` finds the policy), or without a leader (`rabbitmq-queues "
          "quorum_status`)? Meanwhile they are parked in the catch-all queue, or "
          "wait in the queues retryd.detour.*\n"
          "<4>messages from 'sms'" +
              parked +
              "<6>'dlx' (work queue 'email') takes messages again\n"
              "<4>messages from 'email'" +
              parked);
}

TEST_CASE("a returned message says of a queue that it will be declared, of an exchange nothing more") {
    const auto line = [](TargetRole role) {
        return said([&](LogReporter& r) { r.requeued({role, "x"}, RequeueCause::returned, Milliseconds{1000}); });
    };
    CHECK(line(TargetRole::rung)
              .starts_with("<4>nothing leads to queue 'x' any more; it is declared again. Meanwhile they wait"));
    CHECK(line(TargetRole::parking_exchange).empty());  // unroutable() has told it
}

TEST_CASE("a queue that does not confirm is said once, in the words of its role, until a message arrives there") {
    const std::string lines = said([](LogReporter& reporter) {
        reporter.silent({TargetRole::rung, "r"});
        reporter.silent({TargetRole::rung, "r"});
        reporter.requeued({TargetRole::rung, "r"}, RequeueCause::unanswered, {});
        reporter.settled({Outcome::detoured, "email", "retryd.detour.2s", "detoured", {}, {}, TargetRole::detour});
        reporter.settled({Outcome::retried, "email", "r", "rejected", {}, {}});
        reporter.silent({TargetRole::detour, "retryd.detour.2s"});
    });
    const std::string silent = "<4>the broker does not confirm messages for queue ";
    const std::string why = ": the queue has no leader (most of its nodes are away: start them), or is very slow. ";
    CHECK(lines ==
          silent + "'r'" + why +
              "Meanwhile they wait in the queues retryd.detour.*, their attempt unspent, and hold up no others\n"
              "<6>'r' takes messages again\n" +
              silent + "'retryd.detour.2s'" + why +
              "Meanwhile they wait in the error queue, and are tried again with growing pauses\n");
}

TEST_CASE("what can take no detour is said to wait in the error queue") {
    const auto line = [](TargetRole role, RequeueCause cause) {
        return said([&](LogReporter& r) { r.requeued({role, "x"}, cause, Milliseconds{1000}); });
    };
    const std::string held = " Meanwhile they wait in the error queue, and are tried again with growing pauses\n";
    CHECK(line(TargetRole::catch_all, RequeueCause::detour_refused).ends_with(held));
    CHECK(line(TargetRole::detour, RequeueCause::detour_refused).ends_with(held));
    CHECK(line(TargetRole::detour, RequeueCause::nacked).ends_with(held));
    CHECK(line(TargetRole::catch_all, RequeueCause::nacked)
              .ends_with("wait in the queues retryd.detour.*, and hold up no others\n"));
}

TEST_CASE("a message on a detour is told at debug") {
    const std::string line = said(
        [&](LogReporter& r) {
            r.settled({Outcome::detoured, "email", "retryd.detour.2s", "detoured", {}, {}, TargetRole::detour});
        },
        config::LogLevel::debug);
    CHECK(line == "<7>a message from 'email' waits on the detour 'retryd.detour.2s', its attempt unspent\n");
}

TEST_CASE("what cannot be published again is said at once, then once a minute with how many more there were") {
    core::SteadyTime now{};
    const auto flood = [&](LogReporter& reporter) {
        for (int second = 0; second <= 61; ++second) {
            now = core::SteadyTime{Milliseconds{second * 1000}};
            reporter.dead_lettered("email", "too large");
        }
        reporter.dead_lettered("sms", "too large");
    };
    const std::string beginning =
        "<4>a message from 'email' cannot be published again: too large. The broker moves it ";
    const std::string line = beginning + "to the catch-all queue as it is; look at it there";
    CHECK(said(flood, config::LogLevel::info, [&] { return now; }) ==
          line + "\n" + line + ". 59 more since the last line like this\n" +
              "<4>a message from 'sms' cannot be published again: too large. The broker moves it to the catch-all "
              "queue as it is; look at it there\n");
}

TEST_CASE("names that change with every message fill neither the log nor the memory, and are counted") {
    LogRateLimiter limiter;
    const core::SteadyTime begin{};
    int lines = 0;
    for (int i = 0; i < 5'000; ++i)
        lines += limiter.allow("e", std::to_string(i), begin) ? 1 : 0;
    CHECK(lines == LogRateLimiter::most_lines);
    CHECK(limiter.allow("another event", "x", begin) == 0);
    const core::SteadyTime later = begin + LogRateLimiter::interval;
    CHECK(limiter.allow("e", "new", later) == 4'990);
    CHECK(limiter.allow("e", "newer", later) == 0);
}

TEST_CASE("what is held back of a kind that does not come again is told with the next line of its event") {
    LogRateLimiter limiter;
    const core::SteadyTime begin{};
    limiter.allow("e", "a", begin);
    limiter.allow("e", "a", begin);
    CHECK(limiter.allow("e", "b", begin + 3 * LogRateLimiter::interval) == 1);
}

TEST_CASE("what is held back and followed by no other line is told after a minute, once") {
    core::SteadyTime now{};
    const std::string lines = said(
        [&](LogReporter& reporter) {
            reporter.report_suppressed(now);
            for (int i = 0; i < 100; ++i)
                reporter.unroutable("x", std::to_string(i));
            now += Milliseconds{59'999};
            reporter.report_suppressed(now);
            now += Milliseconds{1};
            reporter.report_suppressed(now);
            reporter.report_suppressed(now + Milliseconds{60'000});
        },
        config::LogLevel::info, [&] { return now; });
    CHECK(lines ==
          "<3>exchange 'x' leads to no queue with routing key '0'. While that lasts, messages that should be parked in "
          "'x' are parked in the catch-all queue. It is tried again every minute\n"
          "<4>99 more lines 'refused' of this log were held back within a minute: what they tell was told by others "
          "like them. With log.level: debug all are written\n");
}

TEST_CASE("keys that lead nowhere are a line for each exchange, whatever the keys; other refusals of it are told") {
    const std::string lines = said([](LogReporter& reporter) {
        for (const char* key : {"a", "b\x1b[2J\u202e", "c"}) {
            reporter.unroutable("x", key);
            reporter.requeued({TargetRole::parking_exchange, "x"}, RequeueCause::returned, {});
            reporter.settled({Outcome::parked, "email", "x", "too-old", {}, {}, TargetRole::parking_exchange});
        }
        reporter.unroutable("y", "it's \xff");
        reporter.refused(TargetRole::parking_exchange, "x", "it is gone");
    });
    const std::string lasts = "'. While that lasts, messages that should be parked in ";
    const std::string parked = " are parked in the catch-all queue. It is tried again every minute\n";
    CHECK(lines == "<3>exchange 'x' leads to no queue with routing key 'a" + lasts + "'x'" + parked +
                       "<4>messages from 'email' begin to be parked in 'x': too-old. They are kept there until "
                       "somebody sends them back: retryd parked list\n"
                       "<3>exchange 'y' leads to no queue with routing key 'it\\'s \\xff" +
                       lasts + "'y'" + parked +
                       "<3>it is gone. While that lasts, messages that should be parked in 'x'" + parked);
}

TEST_CASE("work queues whose binding is refused are few lines a minute: their names may be made up") {
    const std::string lines = said([](LogReporter& reporter) {
        for (int i = 0; i < 100; ++i)
            reporter.refused(TargetRole::return_binding, "q" + std::to_string(i), "because");
    });
    CHECK(std::count(lines.begin(), lines.end(), '\n') == static_cast<std::ptrdiff_t>(LogRateLimiter::most_lines));
}

TEST_CASE("a name is told so that it can be told from any other") {
    const std::string lines =
        said([](LogReporter& reporter) { reporter.healed(TargetRole::rung, "a\\x1b'\x1b\u202e"); });
    CHECK(lines == "<6>queue 'a\\\\x1b\\'\\x1b\\u202e' is as it must be again\n");
}

TEST_CASE("what has healed is named for what it is") {
    const auto line = [](TargetRole role) { return said([&](LogReporter& reporter) { reporter.healed(role, "x"); }); };
    CHECK(line(TargetRole::rung) == "<6>queue 'x' is as it must be again\n");
    CHECK(line(TargetRole::parking_exchange) == "<6>exchange 'x' is as it must be again\n");
    CHECK(line(TargetRole::error_binding) == "<6>the binding of 'x' is as it must be again\n");
}

TEST_CASE("level and format can change under way") {
    const std::string lines = said([](LogReporter& reporter) { reporter.healed(TargetRole::rung, "a"); });
    CHECK(lines == "<6>queue 'a' is as it must be again\n");
    Log log({config::LogLevel::error, config::LogFormat::text}, Log::Sink::plain);
    CHECK_FALSE(log.enabled(config::LogLevel::info));
    log.configure({config::LogLevel::debug, config::LogFormat::json});
    CHECK(log.enabled(config::LogLevel::debug));
}

}  // namespace retryd::telemetry::log_reporter_test

namespace retryd::telemetry::failing_queues_test {
namespace {

using Changes = std::vector<FailingQueues::Change>;

struct Minutes {
    FailingQueues queues;
    core::SteadyTime now{core::Milliseconds{1}};

    Minutes() { queues.due(now); }
    Changes pass(const std::string& queue, int messages) {
        for (int n = 0; n < messages; ++n)
            queues.died(queue);
        CHECK(queues.due(now + core::Milliseconds{59'999}).empty());
        return queues.due(now += core::Milliseconds{60'000});
    }
};

}  // namespace

TEST_CASE("failing queues: a few messages are nothing to speak of") {
    Minutes m;
    for (int minute = 0; minute < 5; ++minute)
        CHECK(m.pass("email", 19).empty());
}

TEST_CASE("failing queues: ten times the usual is told once, and once when it is over") {
    Minutes m;
    for (int minute = 0; minute < 300; ++minute)
        REQUIRE(m.pass("email", 15).empty());
    CHECK(m.pass("email", 100).empty());
    const Changes begins = m.pass("email", 400);
    REQUIRE(begins.size() == 1);
    CHECK(begins[0].fails);
    CHECK(begins[0].messages == 400);
    CHECK((begins[0].usual > 14 && begins[0].usual < 18));
    CHECK(m.pass("email", 500).empty());
    CHECK(m.pass("email", 120).empty());
    const Changes over = m.pass("email", 15);
    REQUIRE(over.size() == 1);
    CHECK_FALSE(over[0].fails);
}

TEST_CASE("failing queues: forged names do not fill the memory") {
    Minutes m;
    for (int n = 0; n < 5'000; ++n)
        m.queues.died("forged" + std::to_string(n));
    CHECK(m.pass("late", 100).empty());
    for (int minute = 0; minute < 200; ++minute)
        m.pass("x", 0);
    CHECK(m.pass("late", 100).size() == 1);
}

}  // namespace retryd::telemetry::failing_queues_test
