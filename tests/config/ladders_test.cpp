// Ladders by formula, their way home, jitter.
#include "config/formula.h"
#include "loading.h"

namespace retryd::config::ladders_test {
namespace {

using namespace std::chrono_literals;
using Steps = std::vector<core::Milliseconds>;

std::string with_ladder(const std::string& keys) {
    return "ladders:\n  s: {" + keys + "}\nqueues: [{match: a, ladder: s}]\n";
}

core::Ladder ladder_of(const std::string& keys) {
    return settings_of(with_ladder(keys)).policy.entries[0].ladder;
}

Steps steps_of(const Formula& formula) {
    const auto delays = delays_of(formula);
    REQUIRE(std::holds_alternative<Steps>(delays));
    return std::get<Steps>(delays);
}

}  // namespace

TEST_CASE("a formula multiplies, rounds to a whole millisecond and cuts") {
    CHECK(steps_of({1s, 2.0, {}, 4}) == Steps{1s, 2s, 4s, 8s});
    CHECK(steps_of({1s, 2.0, 5s, 5}) == Steps{1s, 2s, 4s, 5s, 5s});
    CHECK(steps_of({1ms, 1.5, {}, 6}) ==
          Steps{1ms, 2ms, 2ms, 3ms, 5ms, 8ms});  // not 1, 2, 3, 5: rounding is not carried
    CHECK(steps_of({10s, 1.0, {}, 3}) == Steps{10s, 10s, 10s});
    CHECK(steps_of({5s, 1.1, 5s, 3}) == Steps{5s, 5s, 5s});
    CHECK(steps_of({1s, 1.1, {}, 3}) == Steps{1s, 1100ms, 1210ms});
    CHECK(steps_of({1s, 100.0, 24h * 3650, 1000}).back() == 24h * 3650);
}

TEST_CASE("a formula without a longest delay ends where RabbitMQ's does") {
    CHECK(delays_of({24h * 3650, 2.0, {}, 2}) == std::variant<Steps, TooLong>{TooLong{2}});
    CHECK(steps_of({24h * 3650, 1.0, {}, 2}) == Steps{24h * 3650, 24h * 3650});
    CHECK(delays_of({1s, 10.0, {}, 1000}) == std::variant<Steps, TooLong>{TooLong{10}});
}

TEST_CASE("a ladder may be written as a formula") {
    CHECK(ladder_of("first: 1s, factor: 3, max: 20s, attempts: 5").steps == Steps{1s, 3s, 9s, 20s, 20s});
    CHECK(ladder_of("first: 1s, attempts: 3").steps == Steps{1s, 2s, 4s});
    CHECK(ladder_of("first: 2s, factor: 1.50, attempts: 3").steps == Steps{2s, 3s, 4500ms});
    CHECK(ladder_of("first: 1s, factor: 1, attempts: 1000").steps == Steps(1000, 1s));
}

TEST_CASE("delays and a formula exclude each other, and one of them must be there") {
    CHECK(problems_of(with_ladder("delays: [1s], factor: 3")) ==
          "f:2:29: ladders.s.factor: is given besides ladders.s.delays[0] on line 2; expected either delays, or a "
          "formula of first, factor, max and attempts\n");
    CHECK(problems_of(with_ladder("delays: [1s], first: 1s, attempts: 3")) ==
          "f:2:28: ladders.s.first: is given besides ladders.s.delays[0] on line 2; expected either delays, or a "
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
          "f:2:14: ladders.s.attempts: is missing besides ladders.s.first; expected how many waits there are, such as "
          "10\n");
    CHECK(problems_of(with_ladder("attempts: 3")) ==
          "f:2:17: ladders.s.first: is missing besides ladders.s.attempts; expected the wait after the first failure, "
          "such as 1s\n");
    CHECK(problems_of(with_ladder("max: 1s")) ==
          "f:2:12: ladders.s.first: is missing besides ladders.s.max; expected the wait after the first failure, such "
          "as 1s\n"
          "f:2:12: ladders.s.attempts: is missing besides ladders.s.max; expected how many waits there are, such as "
          "10\n");
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

TEST_CASE("a formula that cannot be is told with the attempt, or with the bound") {
    CHECK(problems_of(with_ladder("first: 1d, factor: 10, attempts: 8")) ==
          "f:2:40: ladders.s.attempts: attempt 5 would wait longer than 3650d, and RabbitMQ takes no longer delay; "
          "expected a max, or fewer attempts\n");
    CHECK(problems_of(with_ladder("first: 5s, max: 1s, attempts: 8")) ==
          "f:2:23: ladders.s.max: is shorter than first; expected at least 5s\n");
    CHECK(problems_of(with_ladder("first: 5s, max: 5s, attempts: 8")) == "");
}

TEST_CASE("a ladder says how messages come home") {
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

}  // namespace retryd::config::ladders_test
