// Ladders, entries and queues, each checked against the others.
#include "loading.h"

namespace retryd::config::policy_test {
namespace {

using namespace std::chrono_literals;
using Steps = std::vector<core::Milliseconds>;

/// Entries under one ladder `s`.
std::string entries(const std::string& list) {
    return "ladders: {s: {delays: [1s]}}\nqueues:\n" + list;
}

}  // namespace

TEST_CASE("a ladder's delays are unrolled") {
    const Settings settings = settings_of(
        "ladders: {s: {delays: [5s, 30s x3, 1h30m, 500ms  x2], queue_type: classic}}\n"
        "queues: [{match: email, ladder: s, parked: \"{queue}.dead\"}, {match: fax, ladder: s}]\n"
        "parking: {queue: \"graves.{queue}\"}\n");
    REQUIRE(settings.policy.entries.size() == 2);
    const core::Entry& email = settings.policy.entries[0];
    CHECK(email.match == "email");
    CHECK(email.ladder.name == "s");
    CHECK(email.ladder.steps == Steps{5s, 30s, 30s, 30s, 90min, 500ms, 500ms});
    CHECK(email.ladder.queue_type == core::QueueType::classic);
    CHECK(email.parked == core::Parking{"{queue}.dead", "", {}});
    CHECK(settings.policy.entries[1].parked.queue == "graves.{queue}");
}

TEST_CASE("delays that cannot be are all told") {
    const std::string expected = "; expected a delay from 1ms to 3650d, such as 30s, or 30s x3 for three attempts\n";
    CHECK(problems_of("ladders: {s: {delays: [30, 0ms, 30s x0, 30sx3, 3651d, 1s x999, 1s x2, -5s]}}\n"
                      "queues: [{match: a, ladder: s}]\n") ==
          "f:1:24: ladders.s.delays[0]: \"30\" has no unit" + expected +
              "f:1:28: ladders.s.delays[1]: \"0ms\" is too short" + expected +
              "f:1:33: ladders.s.delays[2]: \"30s x0\" is not a delay" + expected +
              "f:1:41: ladders.s.delays[3]: \"30sx3\" is not a delay" + expected +
              "f:1:48: ladders.s.delays[4]: \"3651d\" is not a delay" + expected +
              "f:1:64: ladders.s.delays[6]: \"1s x2\" makes the ladder longer than 1000 attempts" + expected +
              "f:1:71: ladders.s.delays[7]: \"-5s\" is not a delay" + expected);
}

TEST_CASE("the longest delay and the shortest are taken") {
    CHECK(settings_of("ladders: {s: {delays: [1ms, 3650d]}}\nqueues: [{match: a, ladder: s}]\n")
              .policy.entries[0]
              .ladder.steps == Steps{1ms, 24h * 3650});
}

TEST_CASE("a ladder may have a thousand attempts, and a name of 64 characters") {
    const auto problem = [](const std::string& name) {
        return problems_of("ladders: {" + name + ": {delays: [1s x999, 2s]}}\nqueues: [{match: a, ladder: " + name +
                           "}]\n");
    };
    CHECK(problem(std::string(64, 'n')) == "");
    CHECK(problem(std::string(65, 'n')) ==
          "f:1:11: ladders.\"" + std::string(60, 'n') +
              "…\": this is no name for a ladder; expected 1 to 64 letters, digits, _ and -\n");
}

TEST_CASE("a ladder without delays, and one whose name cannot be, are told") {
    CHECK(
        problems_of("ladders:\n  none:\n  empty: {delays: []}\n  \"two words\": {delays: [1s]}\n"
                    "queues: [{match: a, ladder: none}]\n") ==
        "f:2:3: ladders.none: has no delays; expected delays such as [5s, 30s, 2m], or a formula of first and "
        "attempts\n"
        "f:3:19: ladders.empty.delays: is empty; expected a list, each item a delay from 1ms to 3650d, such as 30s, or "
        "30s x3 for three attempts\n"
        "f:4:3: ladders.\"two words\": this is no name for a ladder; expected 1 to 64 letters, digits, _ and -\n");
}

TEST_CASE("an entry names its queue and a ladder that exists") {
    CHECK(problems_of(entries("  - match: a\n  - ladder: s\n  - {match: b, ladder: z}\n  - c\n")) ==
          "f:3:5: queues[0].ladder: is missing; expected the name of a ladder\n"
          "f:4:5: queues[1].match: is missing; expected the name of a work queue, or a glob such as webhook.*\n"
          "f:5:24: queues[2].ladder: \"z\" is not one of the ladders; expected s\n"
          "f:6:5: queues[3]: is a single value; expected a map of keys and values\n");
    CHECK(problems_of("queues: [{match: a, ladder: standard}]\n") ==
          "f:1:29: queues[0].ladder: \"standard\" is not one of the ladders; expected it under ladders:\n");
    CHECK(problems_of("ladders: {a: {delays: [1s]}}\nqueues: []\n") ==
          "f:2:9: queues: is empty; expected a list of at least one entry\n");
}

TEST_CASE("an entry that an earlier one always takes from is told") {
    CHECK(
        problems_of(entries("  - {match: a, ladder: s}\n  - {match: \"web.*\", ladder: s}\n  - {match: a, ladder: s}\n"
                            "  - {match: web.1, ladder: s}\n  - {match: \"web.eu.*\", ladder: s}\n"
                            "  - {match: \"*\", ladder: s}\n  - {match: z, ladder: s}\n")) ==
        "f:5:13: queues[2].match: \"a\" can never match: queues[0] on line 3 (\"a\") takes it first; expected the "
        "narrower entry first\n"
        "f:6:13: queues[3].match: \"web.1\" can never match: queues[1] on line 4 (\"web.*\") takes it first; expected "
        "the narrower entry first\n"
        "f:7:13: queues[4].match: \"web.eu.*\" can never match: queues[1] on line 4 (\"web.*\") takes it first; "
        "expected the narrower entry first\n"
        "f:9:13: queues[6].match: \"z\" can never match: queues[5] on line 8 (\"*\") takes it first; expected the "
        "narrower entry first\n");
}

TEST_CASE("an entry that an earlier one leaves something to is not told") {
    CHECK(problems_of(entries("  - {match: a, ladder: s}\n  - {match: \"a?\", ladder: s}\n"
                              "  - {match: \"a*\", ladder: s}\n  - {match: \"?b\", ladder: s}\n"
                              "  - {match: \"?*b\", ladder: s}\n  - {match: \"*\", ladder: s}\n")) == "");
}

TEST_CASE("names that RabbitMQ or retryd could not work with are told") {
    const std::string longest(255, 'q');
    CHECK(problems_of(entries("  - {match: " + longest + ", ladder: s}\n")) == "");
    const std::string name = "; expected the name of a work queue, or a glob such as webhook.*\n";
    CHECK(problems_of(entries("  - {match: " + longest +
                              "q, ladder: s}\n  - {match: \"\", ladder: s}\n"
                              "  - {match: \"a\\nb\", ladder: s}\n  - {match: amq.gen-1, ladder: s}\n"
                              "  - {match: a.retry.5s, ladder: s}\n"
                              "  - {match: retryd.s.5s, ladder: s}\n")) ==
          "f:3:13: queues[0].match: \"" + longest.substr(0, 60) + "…\" is 256 bytes long" + name +
              "f:4:13: queues[1].match: \"\" is empty" + name +
              "f:5:13: queues[2].match: \"a\\nb\" has a line break in it" + name +
              "f:6:13: queues[3].match: \"amq.gen-1\" begins with amq., which RabbitMQ keeps for itself" + name +
              "f:7:13: queues[4].match: \"a.retry.5s\" has the form of a rung's name, {queue}.retry.{delay}" + name +
              "f:8:13: queues[5].match: \"retryd.s.5s\" has the form of a shared rung's name, retryd.{ladder}.{delay}" +
              name);
    CHECK(
        problems_of(
            "errors: {exchange: amq.fanout, queue: \"{queue}.errors\"}\nparking: {catch_all: x.retry.1m.high}\n" +
            smallest) ==
        "f:1:20: errors.exchange: \"amq.fanout\" begins with amq., which RabbitMQ keeps for itself; expected the name "
        "of an exchange, 1 to 255 bytes\n"
        "f:1:39: errors.queue: \"{queue}.errors\" holds {queue}, which stands for nothing here; expected the name of a "
        "queue, 1 to 255 bytes\n"
        "f:2:22: parking.catch_all: \"x.retry.1m.high\" has the form of a rung's name, {queue}.retry.{delay}; expected "
        "the name of a queue, 1 to 255 bytes\n");
}

TEST_CASE("a parking queue's name has at most one {queue}, room for it, and something besides") {
    const std::string name =
        "; expected the name of a queue, in which {queue} stands for the work queue, or {exchange: NAME, "
        "routing_key: KEY}\n";
    const auto problem = [](const std::string& parked) {
        return problems_of(entries("  - {match: \"*\", ladder: s, parked: \"" + parked + "\"}\n"));
    };
    CHECK(problem("team.dead") == "");
    CHECK(problem("dead.{queue}") == "");
    CHECK(problem(std::string(238, 'p') + "{queue}") == "");
    CHECK(problem("{queue}") == "f:3:37: queues[0].parked: \"{queue}\" is the work queue itself" + name);
    CHECK(problem("{quue}.dead") == "f:3:37: queues[0].parked: \"{quue}.dead\" has braces besides one {queue}" + name);
    CHECK(problem("{queue}{queue}") ==
          "f:3:37: queues[0].parked: \"{queue}{queue}\" has braces besides one {queue}" + name);
    CHECK(problem("amq.{queue}") ==
          "f:3:37: queues[0].parked: \"amq.{queue}\" begins with amq., which RabbitMQ keeps for itself" + name);
    CHECK(problem("{queue}.retry.5s") ==
          "f:3:37: queues[0].parked: \"{queue}.retry.5s\" has the form of a rung's name, {queue}.retry.{delay}" + name);
    CHECK(problem(std::string(239, 'p') + "{queue}") == "f:3:37: queues[0].parked: \"" + std::string(60, 'p') +
                                                            "…\" leaves no room for the work queue's name" + name);
}

TEST_CASE("a work queue that is one of retryd's own queues is told") {
    CHECK(problems_of(entries("  - {match: retryd.errors, ladder: s}\n  - {match: retryd.parked, ladder: s}\n"
                              "  - {match: a, ladder: s}\n  - {match: a.parked, ladder: s}\n"
                              "  - {match: b, ladder: s, parked: b}\n")) ==
          "f:3:13: queues[0].match: \"retryd.errors\" is a queue of retryd's own, errors.queue; expected a work queue\n"
          "f:4:13: queues[1].match: \"retryd.parked\" is a queue of retryd's own, parking.catch_all; expected a work "
          "queue\n"
          "f:6:13: queues[3].match: \"a.parked\" is a queue of retryd's own, where queues[2] parks; expected a work "
          "queue\n"
          "f:7:13: queues[4].match: \"b\" is a queue of retryd's own, where queues[4] parks; expected a work queue\n");
}

TEST_CASE("a glob that looks like a glob's parking queues is none of retryd's own") {
    CHECK(problems_of(entries("  - {match: \"web.*.parked\", ladder: s}\n  - {match: \"web.*\", ladder: s}\n")) == "");
}

TEST_CASE("parking in the error queue is told") {
    const std::string loop = ", and retryd would take out again what it parks there; expected another queue\n";
    CHECK(problems_of("errors: {queue: retryd.parked}\n" + smallest) ==
          "f:1:17: errors.queue: \"retryd.parked\" is parking.catch_all" + loop);
    CHECK(problems_of("parking: {catch_all: retryd.errors, queue: retryd.errors}\n" + smallest) ==
          "f:1:22: parking.catch_all: \"retryd.errors\" is errors.queue" + loop +
              "f:1:44: parking.queue: \"retryd.errors\" is errors.queue" + loop);
    CHECK(problems_of("errors: {queue: email.parked}\n" + smallest) ==
          "f:1:17: errors.queue: \"email.parked\" is where queues[0] parks" + loop);
    CHECK(problems_of(entries("  - {match: \"*\", ladder: s, parked: retryd.errors}\n")) ==
          "f:3:37: queues[0].parked: \"retryd.errors\" is errors.queue" + loop);
}

}  // namespace retryd::config::policy_test
