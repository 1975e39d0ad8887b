#include "core/verdict.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "core/compose_scene.h"
#include "core/decide.h"
#include "core/duration.h"
#include "support/catch.h"

namespace retryd::core::verdict_test {
namespace {

using namespace std::chrono_literals;
using test::ComposeScene;

std::optional<Milliseconds> after(const Value& value) {
    const std::vector<Field> fields{{verdict_header::retry_after, value}};
    return read_verdict(Table{fields.data(), fields.size()}).after;
}
std::optional<Milliseconds> after(std::string_view text) {
    return after(Value::of_longstr(text));
}

Decision decided(std::vector<Milliseconds> steps, std::int64_t attempt, const Verdict& verdict, bool holds = false) {
    Entry entry{"email", {"standard", std::move(steps)}, {"{queue}.parked"}};
    entry.verdict = true;
    Death death;
    death.queue = "email";
    death.reason = "rejected";
    RetryHistory history;
    history.attempt = attempt - 1;
    const Decision decision = decide(death, history, &entry, WallTime{1'800'000'000s}, 0, {.holding = holds});
    return apply_verdict(verdict, decision, attempt, entry.ladder, 0);
}

}  // namespace

TEST_CASE("a time to wait is a number of seconds, or a duration") {
    CHECK(after(Value::of_long(90)) == 90s);
    CHECK(after(Value::of_long(0)) == 0s);
    CHECK(after("90") == 90s);
    CHECK(after("1m30s") == 90s);
    CHECK(after("500ms") == 500ms);
    CHECK(after(Value::of_long(std::numeric_limits<std::int64_t>::max())) == longest_ttl);
    CHECK(after("9223372036854775807") == longest_ttl);
}

TEST_CASE("a time to wait that cannot be read is none") {
    CHECK_FALSE(after(Value::of_long(-1)));
    CHECK_FALSE(after(""));
    CHECK_FALSE(after("-1"));
    CHECK_FALSE(after("soon"));
    CHECK_FALSE(after("90 "));
    CHECK_FALSE(after("9223372036854775808"));
    CHECK_FALSE(after(Value{}));
    CHECK_FALSE(read_verdict({}).after);
}

TEST_CASE("never is that word alone") {
    const auto never = [](const Value& value) {
        const std::vector<Field> fields{{verdict_header::retry, value}};
        return read_verdict(Table{fields.data(), fields.size()}).never;
    };
    CHECK(never(Value::of_longstr("never")));
    CHECK_FALSE(never(Value::of_longstr("Never")));
    CHECK_FALSE(never(Value::of_longstr("")));
    CHECK_FALSE(never(Value::of_long(0)));
    CHECK_FALSE(read_verdict({}).never);
}

TEST_CASE("a time takes the shortest rung that is at least as long, or else the longest, on whatever attempt") {
    const std::vector<Milliseconds> steps{1s, 1min, 10s};
    for (const std::int64_t attempt : {1, 2, 3}) {
        CHECK(decided(steps, attempt, {.after = 0s}) == Decision{Retry{attempt, 1s}});
        CHECK(decided(steps, attempt, {.after = 1s}) == Decision{Retry{attempt, 1s}});
        CHECK(decided(steps, attempt, {.after = 1001ms}) == Decision{Retry{attempt, 10s}});
        CHECK(decided(steps, attempt, {.after = 11s}) == Decision{Retry{attempt, 1min}});
        CHECK(decided(steps, attempt, {.after = 24h}) == Decision{Retry{attempt, 1min}});
    }
    CHECK(decided(steps, 2, {}) == Decision{Retry{2, 1min}});
}

TEST_CASE("a time gives no attempt that the ladder does not have") {
    CHECK(decided({1s}, 2, {.after = 0s}) == Decision{Park{ParkReason::attempts_exhausted, 2}});
    CHECK(decided({}, 1, {.after = 0s}) == Decision{Park{ParkReason::attempts_exhausted, 1}});
}

TEST_CASE("never parks at once, while the queue is held as well; a time does not hurry what is held") {
    CHECK(decided({1s, 2s}, 1, {.never = true}) == Decision{Park{ParkReason::consumer_verdict, 1}});
    CHECK(decided({1s}, 1, {.never = true, .after = 1s}, true) == Decision{Park{ParkReason::consumer_verdict, 1}});
    CHECK(decided({1s}, 1, {.after = 1s}, true) == Decision{Hold{0}});
}

TEST_CASE("what the consumer has said goes before the next try; a parked message keeps why") {
    ComposeScene scene;
    scene.died({}, {{verdict_header::retry, Value::of_longstr("never")},
                    {verdict_header::retry_after, Value::of_long(1)},
                    {verdict_header::retry_reason, Value::of_longstr("no such customer")},
                    {"x-opt-retry-others", Value::of_longstr("kept")}});
    ComposeContext context = scene.context();
    ComposeScratch scratch;
    const auto names = [&](const Message& message) {
        std::string all = test::names_of_headers(message);
        return all.substr(0, all.find(" retryd-"));
    };
    const std::string as_it_was = "x-opt-retry x-opt-retry-after x-opt-retry-reason x-opt-retry-others";
    CHECK(names(compose_retry(scene.message, context, {1, 1s}, scratch)) == as_it_was);
    context.applies_verdict = true;
    CHECK(names(compose_retry(scene.message, context, {1, 1s}, scratch)) == "x-opt-retry-others");
    CHECK(names(compose_held(scene.message, context, {0}, WallTime{1s}, scratch)) == "x-opt-retry-others");
    CHECK(names(compose_parked(scene.message, context, {ParkReason::consumer_verdict, 1}, WallTime{1s}, scratch)) ==
          "x-death x-opt-retry-reason x-opt-retry-others");
}

}  // namespace retryd::core::verdict_test
