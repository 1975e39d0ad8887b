#include "core/duration.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "support/catch.h"

namespace retryd::core::duration_test {
namespace {

using namespace std::chrono_literals;

/// Values around every place where the spelling changes, and many between.
std::vector<Milliseconds> many_durations() {
    std::vector<Milliseconds> durations{0ms, longest_ttl, longest_ttl - 1ms};
    for (const Milliseconds unit : {Milliseconds{1ms}, Milliseconds{1s}, Milliseconds{1min}, Milliseconds{1h},
                                    Milliseconds{24h}, Milliseconds{24h * 30}}) {
        for (const int times : {1, 2, 9, 10, 23, 24, 59, 60, 61, 99, 100}) {
            for (const Milliseconds aside : {-1ms, 0ms, 1ms, 999ms, 1000ms, 61'001ms})
                durations.push_back(unit * times + aside);
        }
    }
    // A linear congruence in place of random numbers: the same thousand values on every run.
    std::uint64_t state = 1;
    for (int i = 0; i < 1000; ++i) {
        state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        const auto spread = (state >> 11U) >> (static_cast<unsigned>(i) % 40U);
        durations.emplace_back(static_cast<std::int64_t>(spread % static_cast<std::uint64_t>(longest_ttl.count())));
    }
    return durations;
}

}  // namespace

TEST_CASE("a duration is whole numbers with units") {
    const std::vector<std::pair<std::string_view, Milliseconds>> written{
        {"500ms", 500ms},     {"30s", 30s},     {"2m", 2min},       {"3h", 3h},
        {"1d", 24h},          {"1h30m", 90min}, {"1m30s", 90s},     {"1d2h3m4s5ms", 24h + 2h + 3min + 4s + 5ms},
        {"1d5ms", 24h + 5ms}, {"90s", 90s},     {"1500ms", 1500ms}, {"36h", 36h},
        {"0ms", 0ms},         {"0s", 0ms},      {"007s", 7s},       {"1m0s", 1min},
    };
    for (const auto& [text, duration] : written) {
        CAPTURE(text);
        CHECK(parse_duration(text) == duration);
    }
}

TEST_CASE("what is no duration is refused") {
    for (const std::string_view text :
         {"",     "s",    "ms",    "5",     "0",    "5x",   "5 s",   " 5s",  "5s ",    "5s 3ms", "+5s",   "-5s",
          "-0s",  "5.0s", "1.5s",  "1,5s",  "1e3s", "5S",   "5M",    "5sec", "5mss",   "5min",   "five",  "5s5",
          "5s5s", "1m1m", "30m1h", "5ms1s", "5s1m", "1h1d", "1ms1m", "0x5s", "5s-1ms", "1h-30m", "s5",    "5µs",
          "5w",   "1y",   "--5s",  "5s\n",  "\t5s", "inf",  "5ss",   "5sm",  "5msm",   "5m s",   "1h 30m"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_duration(text).has_value());
    }
}

TEST_CASE("only the given text is read, whatever stands behind it") {
    const std::string_view buffer = "15s30";
    CHECK(parse_duration(buffer.substr(0, 3)) == 15s);
    CHECK_FALSE(parse_duration(buffer.substr(0, 2)).has_value());
    CHECK_FALSE(parse_duration(std::string_view{"5s\0", 3}).has_value());
}

TEST_CASE("the longest duration is the longest TTL of RabbitMQ, however it is spelled") {
    CHECK(longest_ttl == 24h * 3650);
    for (const std::string_view text :
         {"3650d", "87600h", "5256000m", "315360000s", "315360000000ms", "3649d24h", "3649d23h59m59s1000ms"}) {
        CAPTURE(text);
        CHECK(parse_duration(text) == longest_ttl);
    }
    for (const std::string_view text : {"3651d", "87601h", "5256001m", "315360001s", "315360000001ms", "3650d1ms",
                                        "3650d1s", "3650d1m", "3650d1h", "3649d25h"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_duration(text).has_value());
    }
}

TEST_CASE("a number past any integer is refused, not wrapped round") {
    for (const std::string_view text : {"9223372036854775807ms", "9223372036854775808ms", "18446744073709551617s",
                                        "106751991168d", "213503982335d", "99999999999999999999999999d"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_duration(text).has_value());
    }
}

TEST_CASE("a duration is written with the largest units, without those that are zero") {
    CHECK(format_duration(0ms) == "0ms");
    CHECK(format_duration(1ms) == "1ms");
    CHECK(format_duration(999ms) == "999ms");
    CHECK(format_duration(1s) == "1s");
    CHECK(format_duration(1500ms) == "1s500ms");
    CHECK(format_duration(90s) == "1m30s");
    CHECK(format_duration(1h) == "1h");
    CHECK(format_duration(36h) == "1d12h");
    CHECK(format_duration(24h + 1ms) == "1d1ms");
    CHECK(format_duration(24h * 30 + 2h + 3min + 4s + 5ms) == "30d2h3m4s5ms");
    CHECK(format_duration(longest_ttl) == "3650d");
}

TEST_CASE("what is written is read back as the same duration") {
    for (const Milliseconds duration : many_durations()) {
        const std::string text = format_duration(duration);
        CAPTURE(duration.count(), text);
        CHECK(parse_duration(text) == duration);
    }
}

TEST_CASE("two spellings of one duration are written alike, so that a delay names one queue") {
    CHECK(format_duration(*parse_duration("90s")) == format_duration(*parse_duration("1m30s")));
    CHECK(format_duration(*parse_duration("24h")) == format_duration(*parse_duration("1d")));
    CHECK(format_duration(*parse_duration("0h1000ms")) == format_duration(*parse_duration("1s")));
}

}  // namespace retryd::core::duration_test
