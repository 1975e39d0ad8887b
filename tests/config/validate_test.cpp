// Values that are checked against each other: what entries, bindings, ladders and queues become, or what is wrong with
// them.
#include "loading.h"

namespace retryd::config::validate_test {
namespace {

using namespace std::chrono_literals;
using Steps = std::vector<core::Milliseconds>;

std::string with_entry(const std::string& keys) {
    return "ladders: {s: {delays: [1s]}}\nqueues:\n  - {match: a, ladder: s, " + keys + "}\n";
}

core::Entry entry_of(const std::string& keys) {
    return settings_of(with_entry(keys)).policy.entries[0];
}

std::string with_bindings(const std::string& list) {
    return "errors:\n  bind: " + list + "\n" + smallest;
}

std::string with_ladder(const std::string& keys) {
    return "ladders:\n  s: {" + keys + "}\nqueues: [{match: a, ladder: s}]\n";
}

core::Ladder ladder_of(const std::string& keys) {
    return settings_of(with_ladder(keys)).policy.entries[0].ladder;
}

/// Entries under one ladder `s`.
std::string entries(const std::string& list) {
    return "ladders: {s: {delays: [1s]}}\nqueues:\n" + list;
}

}  // namespace

// Sources.

TEST_CASE("a source, and where the name of its work queue is") {
    using core::Dialect;
    using core::Source;
    using Place = core::WorkQueueOf::Place;
    const auto source_of = [](const std::string& keys) {
        return settings_of("sources: [{" + keys + "}]\n" + smallest).policy.sources.at(0);
    };
    CHECK(source_of("queue: orders_error, dialect: masstransit") == Source{"orders_error", Dialect::masstransit});
    CHECK(source_of("queue: q, dialect: generic, work_queue: {header: x-origin}, reason: {header: x-exception}") ==
          Source{"q", Dialect::generic, {Place::header, "x-origin"}, "x-exception"});
    CHECK(source_of("queue: q_error, dialect: spring, work_queue: {suffix: _error}") ==
          Source{"q_error", Dialect::spring, {Place::suffix, "_error"}});
    CHECK(source_of("queue: q, dialect: generic, work_queue: orders") ==
          Source{"q", Dialect::generic, {Place::name, "orders"}});
    CHECK(settings_of("sources: \n" + smallest).policy.sources.empty());
    CHECK(settings_of("sources: []\n" + smallest).policy.sources.empty());
}

TEST_CASE("what cannot be a source is reported, and a work queue that cannot be") {
    const auto problem_of = [](const std::string& keys) {
        return problems_of("sources: [{" + keys + "}]\n" + smallest);
    };
    const std::string ours = "; expected a queue of somebody else's\n";
    CHECK(problem_of("queue: retryd.errors, dialect: rebus") ==
          "f:1:19: sources[0].queue: \"retryd.errors\" is errors.queue, which retryd consumes in any case" + ours);
    CHECK(problem_of("queue: retryd.parked, dialect: rebus") ==
          "f:1:19: sources[0].queue: \"retryd.parked\" is parking.catch_all, and retryd would take out again what it "
          "parks there" +
              ours);
    CHECK(
        problem_of("queue: email.parked, dialect: rebus") ==
        "f:1:19: sources[0].queue: \"email.parked\" is where queues[0] parks, and retryd would take out again what it "
        "parks there" +
            ours);
    CHECK(
        problem_of("queue: email, dialect: rebus") ==
        "f:1:19: sources[0].queue: \"email\" is the work queue of queues[0], whose consumers would share its messages "
        "with retryd" +
            ours);
    for (const std::string name : {"email.retry.5s", "retryd.detour.10s", "retryd.standard.5s"})
        CHECK(problem_of("queue: " + name + ", dialect: rebus").find("rung's name") != std::string::npos);
    std::string of_glob = smallest;
    of_glob.replace(of_glob.find("email"), 5, "\"web.*\"");
    CHECK(problems_of("sources: [{queue: web.a.parked, dialect: rebus}]\n" + of_glob) ==
          "f:1:19: sources[0].queue: \"web.a.parked\" is a name of retryd's own: that of a rung, or of where an entry "
          "parks" +
              ours);
    CHECK(problem_of("queue: q, dialect: generic, work_queue: email.parked") ==
          "f:1:52: sources[0].work_queue: \"email.parked\" is a queue of retryd's own; expected the queue that its "
          "messages failed in\n");
    CHECK(problem_of("queue: a, dialect: rebus}, {queue: q, dialect: generic, work_queue: a") ==
          "f:1:80: sources[1].work_queue: \"a\" is a source, too; expected the queue that its messages failed in\n");
    CHECK(problem_of("queue: q, dialect: rebus}, {queue: q, dialect: rebus") ==
          "f:1:47: sources[1].queue: \"q\" is a source already; expected each once\n");
    CHECK(problem_of("queue: \"*_error\", dialect: rebus") ==
          "f:1:19: sources[0].queue: \"*_error\" is a glob, whose queues are found by the management API; expected a "
          "section management, or a name\n");
    const auto with_management = [](const std::string& keys) {
        return problems_of("sources: [{" + keys + "}]\n" + smallest + "management: {url: \"http://127.0.0.1:1\"}\n");
    };
    CHECK(with_management("queue: \"*_error\", dialect: rebus").empty());
    CHECK(with_management("queue: \"*\", dialect: rebus") ==
          "f:1:19: sources[0].queue: \"*\" is every queue, the work queues too" + ours);
    CHECK(with_management("queue: \"em*\", dialect: rebus") ==
          "f:1:19: sources[0].queue: \"em*\" is a glob that matches the work queue of queues[0], whose consumers would "
          "share its messages with retryd" +
              ours);
    CHECK(
        problem_of("queue: q, dialect: generic, work_queue: q") ==
        "f:1:52: sources[0].work_queue: \"q\" is the source itself; expected the queue that its messages failed in\n");
    CHECK(problem_of("queue: q, dialect: generic, work_queue: {suffix: _error}") ==
          "f:1:61: sources[0].work_queue.suffix: the name of the source, \"q\", does not end with it; expected what it "
          "has more than the work queue's\n");
    CHECK(problem_of("queue: q_e, dialect: generic, work_queue: {suffix: _e, header: h}") ==
          "f:1:63: sources[0].work_queue.suffix: is given together with sources[0].work_queue.header on line 1; "
          "expected one "
          "of "
          "the two\n");
    CHECK(problem_of("queue: q, dialect: mass")
              .starts_with(
                  "f:1:31: sources[0].dialect: \"mass\" is not one of the choices; expected masstransit, nservicebus"));
    CHECK(problem_of("dialect: rebus") ==
          "f:1:11: sources[0].queue: is missing; expected the name of a queue that is there already, or a glob such as "
          "*_error\n");
}

TEST_CASE("an entry whose failures come by a source needs one that can name its queue") {
    const auto problem_of = [](const std::string& match, const std::string& sources) {
        return problems_of(
            "ladders: {s: {delays: [1s]}}\nmanagement: {url: \"http://127.0.0.1:1\"}\nqueues:\n  - {match: " + match +
            ", ladder: s, failures: source}\n" + sources);
    };
    CHECK(entry_of("failures: error_queue").failures == core::FailuresBy::error_queue);
    const std::string some = "sources: [{queue: failed, dialect: symfony}]\n";
    CHECK(settings_of(with_entry("failures: source") + some).policy.entries[0].failures == core::FailuresBy::source);
    CHECK(problem_of("orders", "") ==
          "f:4:42: queues[0].failures: has no source to come by; expected the queue that its consumers put them into "
          "under sources, or no failures: source\n");
    CHECK(
        problem_of("orders", "sources: [{queue: failed, dialect: generic, work_queue: email}]\n") ==
        "f:4:42: queues[0].failures: has no source that could name \"orders\", by what their work_queue says; expected "
        "one that can, or no failures: source\n");
    CHECK(problem_of("orders", "sources: [{queue: email.x, dialect: rebus, work_queue: {suffix: .x}}]\n")
              .find("could name \"orders\"") != std::string::npos);
    CHECK(problem_of("\"orders.*\"", "sources: [{queue: email.x, dialect: rebus, work_queue: {suffix: .x}}]\n")
              .find("could name \"orders.*\"") != std::string::npos);
    CHECK(problem_of("\"orders.*\"", "sources: [{queue: x, dialect: rebus, work_queue: orders}]\n")
              .find("could name \"orders.*\"") != std::string::npos);
    for (const char* const good :
         {"{queue: failed, dialect: symfony}", "{queue: x, dialect: generic, work_queue: {header: h}}",
          "{queue: x, dialect: rebus, work_queue: email}, {queue: y, dialect: rebus, work_queue: orders.a}",
          "{queue: orders.a.x, dialect: rebus, work_queue: {suffix: .x}}",
          "{queue: \"*.x\", dialect: rebus, work_queue: {suffix: .x}}"}) {
        CAPTURE(good);
        CHECK(problem_of("orders.a", "sources: [" + std::string{good} + "]\n").empty());
        CHECK(problem_of("\"orders.*\"", "sources: [" + std::string{good} + "]\n").empty());
    }
    // Nothing follows from sources that are wrong themselves.
    CHECK(problem_of("orders", "sources: 7\n").find("failures") == std::string::npos);
    CHECK(problem_of("orders", "sources: [{queue: failed, dialect: symfony, work_queue: }, {dialect: rebus}]\n")
              .find("failures") == std::string::npos);
    CHECK(problems_of(with_entry("failures: sourze") + some) ==
          "f:3:37: queues[0].failures: \"sourze\" is not one of the choices; expected error_queue or source; did you "
          "mean "
          "source?\n");
}

// Entries, and other exchanges that lead to the error queue.

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
          "f:3:46: queues[0].parked.exchange: \"retryd.return\" is the exchange through which messages return to "
          "their work queues" +
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

TEST_CASE("parking through an exchange that leads to the error queue is reported") {
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

TEST_CASE("a binding that is there already, and one without an exchange, are reported") {
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
    CHECK(problems_of(with_bindings("[{exchange: retryd.return}]")) ==
          "f:2:21: errors.bind[0].exchange: \"retryd.return\" is the exchange through which messages return to "
          "their work queues; "
          "expected the name of an exchange that is there already, 1 to 255 bytes\n");
}

TEST_CASE("the error exchange is not one of those that return messages") {
    CHECK(problems_of("errors: {exchange: retryd.return}\n" + smallest) ==
          "f:1:20: errors.exchange: \"retryd.return\" is the exchange through which messages return to "
          "their work queues; "
          "expected the name of an exchange, 1 to 255 bytes\n");
    CHECK_FALSE(problems_of("errors: {exchange: retryd.s.1s}\n" + smallest).empty());
}

// Ladders by formula, return paths, jitter.

TEST_CASE("a formula multiplies, rounds to a whole millisecond and cuts") {
    CHECK(ladder_of("first: 1s, factor: 2, attempts: 4").steps == Steps{1s, 2s, 4s, 8s});
    CHECK(ladder_of("first: 1s, factor: 2, max: 5s, attempts: 5").steps == Steps{1s, 2s, 4s, 5s, 5s});
    CHECK(ladder_of("first: 1ms, factor: 1.5, attempts: 6").steps ==
          Steps{1ms, 2ms, 2ms, 3ms, 5ms, 8ms});  // not 1, 2, 3, 5: rounding is not carried
    CHECK(ladder_of("first: 10s, factor: 1, attempts: 3").steps == Steps{10s, 10s, 10s});
    CHECK(ladder_of("first: 5s, factor: 1.1, max: 5s, attempts: 3").steps == Steps{5s, 5s, 5s});
    CHECK(ladder_of("first: 1s, factor: 1.1, attempts: 3").steps == Steps{1s, 1100ms, 1210ms});
    CHECK(ladder_of("first: 1s, factor: 100, max: 3650d, attempts: 1000").steps.back() == 24h * 3650);
}

TEST_CASE("a formula without a longest delay ends where RabbitMQ's does") {
    const auto first_too_long = [](const std::string& formula) {
        const std::string text = problems_of(with_ladder(formula));
        const std::string words = ": attempt ";
        const std::size_t at = text.find(words) + words.size();
        return text.substr(at, text.find(" would", at) - at);
    };
    CHECK(first_too_long("first: 3650d, factor: 2, attempts: 2") == "2");
    CHECK(ladder_of("first: 3650d, factor: 1, attempts: 2").steps == Steps{24h * 3650, 24h * 3650});
    CHECK(first_too_long("first: 1s, factor: 10, attempts: 1000") == "10");
}

TEST_CASE("a ladder may be written as a formula") {
    CHECK(ladder_of("first: 1s, factor: 3, max: 20s, attempts: 5").steps == Steps{1s, 3s, 9s, 20s, 20s});
    CHECK(ladder_of("first: 1s, attempts: 3").steps == Steps{1s, 2s, 4s});
    CHECK(ladder_of("first: 2s, factor: 1.50, attempts: 3").steps == Steps{2s, 3s, 4500ms});
    CHECK(ladder_of("first: 1s, factor: 1, attempts: 1000").steps == Steps(1000, 1s));
}

TEST_CASE("delays and a formula exclude each other, and one of them must be there") {
    CHECK(
        problems_of(with_ladder("delays: [1s], factor: 3")) ==
        "f:2:29: ladders.s.factor: is given together with ladders.s.delays[0] on line 2; expected either delays, or a "
        "formula of first, factor, max and attempts\n");
    CHECK(problems_of(with_ladder("delays: [1s], first: 1s, attempts: 3")) ==
          "f:2:28: ladders.s.first: is given together with ladders.s.delays[0] on line 2; expected either delays, or a "
          "formula of first, factor, max and attempts\n");
    CHECK(problems_of(with_ladder("queue_type: quorum")) ==
          "f:2:3: ladders.s: has no delays; expected delays such as [5s, 30s, 2m], or a formula of first and "
          "attempts\n");
    CHECK(problems_of("ladders: {s: }\nqueues: [{match: a, ladder: s}]\n") ==
          "f:1:11: ladders.s: has no delays; expected delays such as [5s, 30s, 2m], or a formula of first and "
          "attempts\n");
}

TEST_CASE("half a formula says what is missing") {
    CHECK(problems_of(with_ladder("first: 1s")) ==
          "f:2:14: ladders.s.attempts: is missing, and ladders.s.first needs it; expected how many waits there are, "
          "such as 10\n");
    CHECK(problems_of(with_ladder("attempts: 3")) ==
          "f:2:17: ladders.s.first: is missing, and ladders.s.attempts needs it; expected the wait after the first "
          "failure, such as 1s\n");
    CHECK(problems_of(with_ladder("max: 1s")) ==
          "f:2:12: ladders.s.first: is missing, and ladders.s.max needs it; expected the wait after the first failure, "
          "such as 1s\n"
          "f:2:12: ladders.s.attempts: is missing, and ladders.s.max needs it; expected how many waits there are, such "
          "as 10\n");
}

TEST_CASE("a formula's values have bounds, and from a wrong one no other problem follows") {
    CHECK(problems_of(with_ladder("first: 0s, factor: 0.9, max: 3651d, attempts: 0")) ==
          "f:2:14: ladders.s.first: \"0s\" is too short; expected a duration from 1ms to 3650d, such as 1s\n"
          "f:2:26: ladders.s.factor: \"0.9\" is too small; expected a number from 1 to 100, such as 2 or 1.5\n"
          "f:2:36: ladders.s.max: \"3651d\" is not a duration; expected a duration from 1ms to 3650d, such as 5m\n"
          "f:2:53: ladders.s.attempts: \"0\" is too small; expected a whole number from 1 to 1000\n");
    CHECK(problems_of(with_ladder("first: 5, attempts: 1001")) ==
          "f:2:14: ladders.s.first: \"5\" has no unit; expected a duration from 1ms to 3650d, such as 1s\n"
          "f:2:27: ladders.s.attempts: \"1001\" is too large; expected a whole number from 1 to 1000\n");
    for (const char* wrong : {"x", "1.", ".5", "-2", "+2", "1e1", "0x2", "nan", "inf", "\"1,5\"", "\"2 \""}) {
        CAPTURE(wrong);
        CHECK(problems_of(with_ladder("first: 1s, attempts: 2, factor: " + std::string{wrong}))
                  .find(" is not a number; expected a number from 1 to 100, such as 2 or 1.5\n") != std::string::npos);
    }
    CHECK(problems_of(with_ladder("first: 1s, attempts: 2, factor: 100.1")).find("is too large") != std::string::npos);
    CHECK(problems_of(with_ladder("first: 1s, attempts: 2, factor: 02")).find("begins with a 0") != std::string::npos);
    CHECK(problems_of(with_ladder("first: 1s, attempts: 2, factor: 100")) == "");
}

TEST_CASE("a formula that cannot be is reported with the attempt, or with the bound") {
    CHECK(problems_of(with_ladder("first: 1d, factor: 10, attempts: 8")) ==
          "f:2:40: ladders.s.attempts: attempt 5 would wait longer than 3650d, and RabbitMQ takes no longer delay; "
          "expected a max, or fewer attempts\n");
    CHECK(problems_of(with_ladder("first: 5s, max: 1s, attempts: 8")) ==
          "f:2:23: ladders.s.max: is shorter than first; expected at least 5s\n");
    CHECK(problems_of(with_ladder("first: 5s, max: 5s, attempts: 8")) == "");
}

TEST_CASE("a ladder says how messages come back") {
    CHECK(ladder_of("delays: [1s], return: headers").return_path == core::ReturnPath::headers);
    CHECK(ladder_of("delays: [1s], return: queue").return_path == core::ReturnPath::queue);
    CHECK(problems_of(with_ladder("delays: [1s], return: exchange")) ==
          "f:2:29: ladders.s.return: \"exchange\" is not one of the choices; expected queue or headers\n");
}

TEST_CASE("jitter has a width in percent and a number of lanes") {
    CHECK(ladder_of("delays: [1s], jitter: {width: 20%, lanes: 4}").jitter == core::Jitter{20, 4});
    CHECK(ladder_of("delays: [1s], jitter: {width: 1%, lanes: 2}").jitter == core::Jitter{1, 2});
    CHECK(ladder_of("delays: [1s], jitter: {width: 99%, lanes: 16}").jitter == core::Jitter{99, 16});
    CHECK(ladder_of("delays: [1s], jitter: ").jitter == core::Jitter{});
    const std::string percentage = "; expected a percentage from 1% to 99%, such as 20%\n";
    CHECK(problems_of(with_ladder("delays: [1s], jitter: {}")) ==
          "f:2:29: ladders.s.jitter.width: is missing" + percentage +
              "f:2:29: ladders.s.jitter.lanes: is missing; expected a whole number from 2 to 16\n");
    const auto width = [&](const std::string& text) {
        const std::string line = problems_of(with_ladder("delays: [1s], jitter: {lanes: 2, width: " + text + "}"));
        const std::string place = "f:2:47: ladders.s.jitter.width: ";
        REQUIRE(line.starts_with(place));
        REQUIRE(line.ends_with(percentage));
        return line.substr(place.size(), line.size() - place.size() - percentage.size());
    };
    CHECK(width("20") == "\"20\" has no %");
    CHECK(width("0%") == "\"0%\" is too small");
    CHECK(width("100%") == "\"100%\" is too large");
    CHECK(width("05%") == "\"05%\" begins with a 0");
    CHECK(width("2.5%") == "\"2.5%\" is not a whole number");
    CHECK(width("\"%\"") == "\"%\" is not a whole number");
    CHECK(width("wide") == "\"wide\" is not a percentage");
    CHECK(problems_of(with_ladder("delays: [1s], jitter: {width: 5%, lanes: 1}")) ==
          "f:2:48: ladders.s.jitter.lanes: \"1\" is too small; expected a whole number from 2 to 16\n");
    CHECK(problems_of(with_ladder("delays: [1s], jitter: {width: 5%, lanes: 17}")) ==
          "f:2:48: ladders.s.jitter.lanes: \"17\" is too large; expected a whole number from 2 to 16\n");
}

// Ladders, entries and queues, each checked against the others.

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

TEST_CASE("delays that cannot be are all reported") {
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

TEST_CASE("a ladder without delays, and one whose name cannot be, are reported") {
    CHECK(
        problems_of("ladders:\n  none:\n  empty: {delays: []}\n  \"two words\": {delays: [1s]}\n"
                    "queues: [{match: a, ladder: none}]\n") ==
        "f:2:3: ladders.none: has no delays; expected delays such as [5s, 30s, 2m], or a formula of first and "
        "attempts\n"
        "f:3:19: ladders.empty.delays: is empty; expected a list, each item a delay from 1ms to 3650d, such as 30s, or "
        "30s x3 for three attempts\n"
        "f:4:3: ladders.\"two words\": this is no name for a ladder; expected 1 to 64 letters, digits, _ and -\n");
}

TEST_CASE("a ladder cannot have the name of the detours, with and without rungs of its own") {
    for (const char* path : {"queue", "headers"}) {
        CAPTURE(path);
        CHECK(problems_of("ladders: {detour: {delays: [1s], return: " + std::string{path} +
                          "}}\nqueues: [{match: a, ladder: detour}]\n") ==
              "f:1:11: ladders.detour: no ladder can be called so: the queues retryd.detour.* are retryd's own; "
              "expected another name\n");
    }
    CHECK(problems_of("ladders: {detours: {delays: [1s]}}\nqueues: [{match: a, ladder: detours}]\n") == "");
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

TEST_CASE("an entry that an earlier one always takes from is reported") {
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

TEST_CASE("an entry that an earlier one leaves something to is not reported") {
    CHECK(problems_of(entries("  - {match: a, ladder: s}\n  - {match: \"a?\", ladder: s}\n"
                              "  - {match: \"a*\", ladder: s}\n  - {match: \"?b\", ladder: s}\n"
                              "  - {match: \"?*b\", ladder: s}\n  - {match: \"*\", ladder: s}\n")) == "");
}

TEST_CASE("names that RabbitMQ or retryd could not work with are reported") {
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
              "f:5:13: queues[2].match: \"a\\x0ab\" has a line break in it" + name +
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

TEST_CASE("a work queue that is one of retryd's own queues is reported") {
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

TEST_CASE("parking in the error queue is reported") {
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

TEST_CASE("an outage section, or a hold on a glob, needs the management API") {
    CHECK(problems_of(with_entry("outage: {}")) ==
          "f:3:5: queues[0].outage: needs RabbitMQ's counters of what succeeds; expected a section management with its "
          "url\n");
    CHECK(
        problems_of("ladders: {s: {delays: [1s]}}\nqueues:\n  - {match: \"a.*\", ladder: s, hold: true}\n") ==
        "f:3:5: queues[0].hold: with a glob needs the management API, to find the held messages again after a restart; "
        "expected a section management with its url, or the names of the queues\n");
    CHECK(entry_of("hold: true").hold);
    CHECK(problems_of("management: {url: http://h:1}\n" + with_entry("hold: true, outage: {}")) == "");
    CHECK(settings_of("management: {url: http://h:1}\n" + with_entry("outage: {}")).policy.entries[0].outage ==
          core::OutageRule{});
}

TEST_CASE("parked_age says what becomes of a message: it is archived, or dropped") {
    const std::string place = "f:3:5: queues[0].parked_age: ";
    CHECK(problems_of(with_entry("parked_age: {max: 30d, archive: /a, drop: true}")) ==
          place + "has both archive and drop: true; expected one of them, for a message is kept or it is not\n");
    for (const char* neither : {"{max: 30d}", "{max: 30d, drop: false}"}) {
        CHECK(problems_of(with_entry(std::string{"parked_age: "} + neither)) ==
              place +
                  "does not say what becomes of messages that are too old; expected archive: FOLDER, or drop: true\n");
    }
    CHECK(entry_of("parked_age: {max: 30d, archive: /a, drop: false}").parked_age ==
          core::ParkedAge{std::chrono::hours{24 * 30}, "/a"});
    CHECK(entry_of("parked_age: {max: 1m, drop: true}").parked_age == core::ParkedAge{std::chrono::minutes{1}, ""});
    CHECK(problems_of(with_entry("parked_age: {drop: true}")).find("queues[0].parked_age.max: is missing") !=
          std::string::npos);
    CHECK(problems_of(with_entry("parked_age: {max: 59s, drop: true}")).find("is too short") != std::string::npos);
}

TEST_CASE("parked_age needs a place that is known: of the archive, and of the messages") {
    CHECK(problems_of(with_entry("parked_age: {max: 1d, archive: here}")).find("expected a path that begins with /") !=
          std::string::npos);
    CHECK(problems_of(with_entry("parked: {exchange: x}, parked_age: {max: 1d, drop: true}"))
              .find("parks in an exchange") != std::string::npos);
    const std::string glob =
        "ladders: {s: {delays: [1s]}}\nqueues:\n  - {match: \"a.*\", ladder: s, parked_age: {max: 1d, "
        "drop: true}";
    CHECK(problems_of(glob + "}\n").find("with a glob needs the management API") != std::string::npos);
    CHECK(problems_of(glob + ", parked: graves}\n") == "");
    CHECK(problems_of("management: {url: http://h:1}\n" + glob + "}\n") == "");
}

}  // namespace retryd::config::validate_test
