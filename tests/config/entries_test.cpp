// What an entry does with its messages, and which other exchanges lead to us.
#include "loading.h"

namespace retryd::config::entries_test {
namespace {

using namespace std::chrono_literals;

std::string with_entry(const std::string& keys) {
    return "ladders: {s: {delays: [1s]}}\nqueues:\n  - {match: a, ladder: s, " + keys + "}\n";
}

core::Entry entry_of(const std::string& keys) {
    return settings_of(with_entry(keys)).policy.entries[0];
}

std::string with_bindings(const std::string& list) {
    return "errors:\n  bind: " + list + "\n" + smallest;
}

}  // namespace

TEST_CASE("an entry may park by age") {
    CHECK(entry_of("max_age: 24h").max_age == 24h);
    CHECK(entry_of("max_age: 1s").max_age == 1s);
    CHECK(problems_of(with_entry("max_age: 999ms")) ==
          "f:3:36: queues[0].max_age: \"999ms\" is too short; expected a duration from 1s to 3650d, such as 1d\n");
}

TEST_CASE("an entry says what each reason leads to; what it does not name keeps its default") {
    using core::Action;
    CHECK(entry_of("on: {rejected: drop, delivery_limit: park, expired: retry, maxlen: retry}").on ==
          core::OnDeath{Action::drop, Action::park, Action::retry, Action::retry});
    CHECK(entry_of("on: {maxlen: drop}").on == core::OnDeath{Action::retry, Action::retry, Action::park, Action::drop});
    CHECK(entry_of("on: ").on == core::OnDeath{});
    CHECK(problems_of(with_entry("on: {expired: ignore, reject: park}")) ==
          "f:3:41: queues[0].on.expired: \"ignore\" is not one of the choices; expected retry, park or drop\n"
          "f:3:49: queues[0].on.reject: unknown key; did you mean rejected?\n");
}

TEST_CASE("an entry parks in a queue or through an exchange") {
    CHECK(entry_of("parked: team.dead").parked == core::Parking{"team.dead", "", {}});
    CHECK(entry_of("parked: {exchange: team.dlx}").parked == core::Parking{"", "team.dlx", {}});
    CHECK(entry_of("parked: {exchange: amq.topic, routing_key: \"dead.{queue}\"}").parked ==
          core::Parking{"", "amq.topic", "dead.{queue}"});
    CHECK(entry_of("parked: {exchange: team.dlx, routing_key: \"\"}").parked == core::Parking{"", "team.dlx", ""});
    CHECK(entry_of("parked: {exchange: team.dlx, routing_key: }").parked == core::Parking{"", "team.dlx", {}});
}

TEST_CASE("an exchange to park through must be named, be usable, and not be one of retryd's own") {
    const auto problem = [](const std::string& parked) { return problems_of(with_entry("parked: " + parked)); };
    const std::string name = "; expected the name of an exchange that is there already, 1 to 255 bytes\n";
    const std::string key = "; expected a routing key, in which {queue} stands for the work queue\n";
    CHECK(problem("{routing_key: x}") == "f:3:35: queues[0].parked.exchange: is missing" + name);
    CHECK(problem("[a]") ==
          "f:3:35: queues[0].parked: is a list; expected the name of a queue, in which {queue} stands for the work "
          "queue, or {exchange: NAME, routing_key: KEY}\n");
    CHECK(problem("{exchange: x, queue: y}") ==
          "f:3:49: queues[0].parked.queue: unknown key; did you mean errors.queue?\n");
    CHECK(problem("{exchange: \"\"}") == "f:3:46: queues[0].parked.exchange: \"\" is empty" + name);
    const std::string longest(255, 'x');
    CHECK(problem("{exchange: " + longest + ", routing_key: " + longest + "}") == "");
    CHECK(problem("{exchange: " + longest + "x}") ==
          "f:3:46: queues[0].parked.exchange: \"" + longest.substr(0, 60) + "…\" is 256 bytes long" + name);
    CHECK(problem("{exchange: retryd.return}") ==
          "f:3:46: queues[0].parked.exchange: \"retryd.return\" is the exchange through which retryd sends messages "
          "home" +
              name);
    CHECK(problem("{exchange: retryd.s.1s}") ==
          "f:3:46: queues[0].parked.exchange: \"retryd.s.1s\" has the form of a shared rung's name, "
          "retryd.{ladder}.{delay}" +
              name);
    CHECK(problem("{exchange: x, routing_key: \"{quue}\"}") ==
          "f:3:62: queues[0].parked.routing_key: \"{quue}\" has braces besides one {queue}" + key);
    CHECK(problem("{exchange: x, routing_key: " + longest + "x}") ==
          "f:3:62: queues[0].parked.routing_key: \"" + longest.substr(0, 60) + "…\" is 256 bytes long" + key);
}

TEST_CASE("parking through an exchange that leads to the error queue is told") {
    const std::string loop = ", and retryd would take out again what it parks there; expected another exchange\n";
    CHECK(problems_of(with_entry("parked: {exchange: retryd.errors}")) ==
          "f:3:46: queues[0].parked.exchange: \"retryd.errors\" is errors.exchange" + loop);
    CHECK(problems_of("errors: {bind: [{exchange: b}, {exchange: legacy}]}\n" +
                      with_entry("parked: {exchange: legacy}")) ==
          "f:4:46: queues[0].parked.exchange: \"legacy\" is the exchange of errors.bind[1]" + loop);
    CHECK(problems_of("parking: {queue: retryd.errors}\n" + with_entry("parked: {exchange: x}")) == "");
}

TEST_CASE("other exchanges may lead to the error queue") {
    using Bindings = std::vector<core::ErrorBinding>;
    const auto bindings_of = [](const std::string& list) {
        return settings_of(with_bindings(list)).policy.error_bindings;
    };
    CHECK(bindings_of("[{exchange: legacy.dlx}]") == Bindings{{"legacy.dlx", "#"}});
    CHECK(bindings_of("[{exchange: b, routing_key: x}, {exchange: b, routing_key: y}, {exchange: amq.fanout, "
                      "routing_key: \"\"}]") == Bindings{{"b", "x"}, {"b", "y"}, {"amq.fanout", ""}});
    CHECK(bindings_of("[]").empty());
}

TEST_CASE("a binding that is there already, and one without an exchange, are told") {
    CHECK(
        problems_of(with_bindings("[{exchange: retryd.errors}]")) ==
        "f:2:21: errors.bind[0].exchange: \"retryd.errors\" is errors.exchange, which leads to the error queue in any "
        "case; expected another exchange\n");
    CHECK(
        problems_of(
            with_bindings("[{exchange: b}, {exchange: b, routing_key: \"#\"}, {exchange: b, routing_key: x}]")) ==
        "f:2:25: errors.bind[1]: is the same as errors.bind[0] on line 2; expected each exchange with another routing "
        "key\n");
    CHECK(problems_of(with_bindings("[{routing_key: \"#\"}, legacy.dlx]")) ==
          "f:2:10: errors.bind[0].exchange: is missing; expected the name of an exchange that is there already, 1 to "
          "255 bytes\n"
          "f:2:30: errors.bind[1]: is a single value; expected a map of keys and values\n");
    CHECK(problems_of(with_bindings("legacy.dlx")) ==
          "f:2:9: errors.bind: is a single value; expected a list of maps of keys and values\n");
    CHECK(
        problems_of(with_bindings("[{exchange: retryd.return}]")) ==
        "f:2:21: errors.bind[0].exchange: \"retryd.return\" is the exchange through which retryd sends messages home; "
        "expected the name of an exchange that is there already, 1 to 255 bytes\n");
}

TEST_CASE("the error exchange is none of those that send home") {
    CHECK(problems_of("errors: {exchange: retryd.return}\n" + smallest) ==
          "f:1:20: errors.exchange: \"retryd.return\" is the exchange through which retryd sends messages home; "
          "expected the name of an exchange, 1 to 255 bytes\n");
    CHECK_FALSE(problems_of("errors: {exchange: retryd.s.1s}\n" + smallest).empty());
}

}  // namespace retryd::config::entries_test
