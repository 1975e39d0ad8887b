// Sizes and steps.
#include "config/scalars.h"

#include "loading.h"

namespace retryd::config::scalars_test {

TEST_CASE("sizes have a unit of 1000 or 1024") {
    CHECK(parse_size("512B") == 512);
    CHECK(parse_size("1kB") == 1000);
    CHECK(parse_size("1KB") == 1000);
    CHECK(parse_size("1KiB") == 1024);
    CHECK(parse_size("10MB") == 10'000'000);
    CHECK(parse_size("64MiB") == 67'108'864);
    CHECK(parse_size("2GB") == 2'000'000'000);
    CHECK(parse_size("1024GiB") == largest_size);
    for (const char* wrong : {"", "B", "5", "-5B", "+5B", "5 B", "5b", "5MiB ", "1.5MiB", "1025GiB",
                              "99999999999999999999B", "18446744073709551615GiB"}) {
        CAPTURE(wrong);
        CHECK_FALSE(parse_size(wrong).has_value());
    }
}

TEST_CASE("a size is written as it would be read") {
    for (const std::uint64_t size : {1ULL, 1000ULL, 1023ULL, 1024ULL, 64ULL << 20U, 10'000'000ULL, 1ULL << 40U}) {
        CAPTURE(size);
        CHECK(parse_size(format_size(size)) == size);
    }
    CHECK(format_size(64ULL << 20U) == "64MiB");
    CHECK(format_size(10'000'000) == "10MB");
    CHECK(format_size(1536) == "1536B");
}

TEST_CASE("a step may be repeated") {
    CHECK(parse_steps("30s")->times == 1);
    CHECK(parse_steps("30s x3")->times == 3);
    CHECK(parse_steps("1m30s   x1000")->delay == std::chrono::seconds{90});
    for (const char* wrong :
         {"", "x3", "30s x", "30s x1001", "30s x03", "30s x-1", "30s x3 ", "30s  3", "30s 3x", "30s "}) {
        CAPTURE(wrong);
        CHECK_FALSE(parse_steps(wrong).has_value());
    }
}

}  // namespace retryd::config::scalars_test
