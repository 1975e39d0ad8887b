#include "commands/parked/age_out.h"

#include <chrono>
#include <set>
#include <string>

#include "support/catch.h"

// The names of the files that messages go into when they are too old.

namespace retryd::commands::age_out_test {

namespace {

constexpr std::uint64_t that_day = 1'795'392'000;  // 2026-11-23

}  // namespace

TEST_CASE("the next look at a parking queue is when its oldest message is due, but not too often") {
    using std::chrono::hours;
    using std::chrono::minutes;
    using std::chrono::seconds;
    const core::Milliseconds month = hours{24 * 30};
    CHECK(next_look_after({month, hours{5}, 0, {}}) == hours{5});
    CHECK(next_look_after({month, seconds{5}, 0, {}}) == hours{1});
    CHECK(next_look_after({minutes{10}, seconds{5}, 0, {}}) == minutes{1});
    CHECK(next_look_after({hours{10}, seconds{5}, 0, {}}) == minutes{6});
    // Nothing is there, or all of it stays: what comes now is due after `max`, and a clock may have jumped.
    CHECK(next_look_after({hours{10}, {}, 0, {}}) == hours{10});
    CHECK(next_look_after({month, {}, 0, {}}) == hours{24});
}

TEST_CASE("a look that passes messages that stay, or takes long, comes more rarely") {
    using std::chrono::hours;
    using std::chrono::minutes;
    using std::chrono::seconds;
    CHECK(next_look_after({minutes{10}, seconds{5}, 1, {}}) == minutes{15});
    CHECK(next_look_after({hours{240}, seconds{5}, 1, {}}) == hours{1});
    CHECK(next_look_after({minutes{10}, seconds{5}, 0, seconds{30}}) == minutes{50});
    CHECK(next_look_after({minutes{10}, seconds{5}, 0, hours{3}}) == hours{24});
}

TEST_CASE("an archive has the name of its queue and of the day") {
    CHECK(archive_name("email.parked", that_day) == "email.parked-2026-11-23.ndjson");
    CHECK(archive_name("email.parked", that_day + 86'399) == "email.parked-2026-11-23.ndjson");
    CHECK(archive_name("email.parked", that_day + 86'400) == "email.parked-2026-11-24.ndjson");
}

TEST_CASE("whatever stands in a queue's name, its archive is a file in the folder, and no other queue's") {
    const std::string longest(255, '/');
    std::set<std::string> names;
    const std::string queues[] = {"a",
                                  "..",
                                  ".",
                                  "../../etc/passwd",
                                  "a/b",
                                  "a%2Fb",
                                  "-rf",
                                  ".hidden",
                                  "a b\n\x1b[2J",
                                  "žluť",
                                  "\xff",
                                  std::string("a\0b", 3),
                                  std::string(255, 'x'),
                                  std::string(254, 'x') + "y",
                                  std::string(255, '~'),
                                  longest};
    for (const std::string& queue : queues) {
        const std::string name = archive_name(queue, that_day);
        INFO(name);
        CHECK(name.size() <= 250);
        CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-%~") ==
              std::string::npos);
        CHECK(name.front() != '.');
        names.insert(name);
    }
    CHECK(names.size() == std::size(queues));
    CHECK(archive_name("a/b", that_day) == "a%2Fb-2026-11-23.ndjson");
}

}  // namespace retryd::commands::age_out_test
