#include "config/scalars.h"

#include <cstdio>

#include "config/problem.h"
#include "core/text.h"
#include "loading.h"

// The small parsers: sizes, steps, nearest names, files.

namespace retryd::config::values_test {

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

TEST_CASE("the nearest name is the one with the fewest slips, if it is near at all") {
    const std::vector<std::string> names{"prefetch", "prefetch_bytes", "queue", "queue_type", "exchange"};
    CHECK(nearest("prefetsh", names) == "prefetch");
    CHECK(nearest("perfetch", names) == "prefetch");
    CHECK(nearest("prefetchbytes", names) == "prefetch_bytes");
    CHECK(nearest("Prefetch-Bytes", names) == "prefetch_bytes");
    CHECK(nearest("qeue", names) == "queue");
    CHECK(nearest("queues", names) == "queue");
    CHECK_FALSE(nearest("bind", names).has_value());
    CHECK_FALSE(nearest("", names).has_value());
    CHECK_FALSE(nearest(std::string(100'000, 'x'), names).has_value());
    CHECK_FALSE(nearest("b", {"a"}).has_value());
}

TEST_CASE("UTF-8 is known where it ends") {
    CHECK(core::valid_utf8_length("aä€😀") == 10);
    CHECK(core::valid_utf8_length("a\xc3") == 1);
    CHECK(core::valid_utf8_length("a\x80") == 1);
    CHECK(core::valid_utf8_length("\xc0\x80") == 0);
    CHECK(core::characters("aä€😀") == 4);
    CHECK(core::utf8_prefix("aä€", 2) == "a");
    CHECK(core::utf8_prefix("aä€", 3) == "aä");
}

TEST_CASE("a file that cannot be read is a problem without a place") {
    const auto problem = [](const std::string& path) {
        const auto loaded = load_file(path, process_environment());
        return format(std::get<Problems>(loaded).at(0), path);
    };
    CHECK(problem("/nowhere/retryd.yaml") ==
          "/nowhere/retryd.yaml: cannot be read (No such file or directory); expected a file that retryd may read");
    CHECK(problem("/") == "/: cannot be read (Is a directory); expected a file that retryd may read");
    CHECK(problem("/dev/zero") ==
          "/dev/zero: cannot be read (it is a pipe or a device, not a file); expected a file that retryd may read");
}

}  // namespace retryd::config::values_test
