// `parked_age`: what has been parked for too long goes into the archive and is dropped, or is dropped.
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "every_type.h"
#include "support/catch.h"
#include "support/folder.h"
#include "support/forged.h"
#include "support/parked_scene.h"

using namespace retryd::test;

namespace {

/// Parks what was parked an hour ago, and what has been parked just now.
struct AgeScene : ParkedScene {
    AgeScene() { entry().parked_age = "{max: 30m, archive: " + folder.path() + "}"; }

    void park_young(const std::string& body) {
        park_one(body, {{"retryd-parked-at", timestamp(static_cast<std::uint64_t>(std::time(nullptr)) - 60)}});
    }
    /// The only file in the archive; empty where there is none.
    std::string archive() const {
        std::string found;
        for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
            CHECK(found.empty());
            found = file.path();
        }
        return found;
    }
    /// So many looks are over, as the log says at debug.
    bool await_looks(int looks) {
        return await([&] { return daemon.lines_with({"looked for parked messages that are older"}) >= looks; });
    }
    std::string archived() const {
        std::ostringstream text;
        if (!archive().empty()) text << std::ifstream(archive(), std::ios::binary).rdbuf();
        return text.str();
    }

    TemporaryFolder folder;
};

/// RabbitMQ 3.10 sorts the headers of what it delivers again: there only what the text is made of is compared.
std::string comparable(std::string text, const Client& client) {
    if (version_of(client) < Version{4, 0}) std::sort(text.begin(), text.end());
    return text;
}

}  // namespace

TEST_CASE("parked_age: what is too old is archived, exact, and then dropped; the young stay in their order",
          "[one-version]") {
    AgeScene s;
    const std::string exported = s.folder.path() + ".export";
    s.park(20);
    s.park_one(std::string("\0\1\xff", 3), one_of_each("own-"));
    REQUIRE(s.parked("export " + exported).code == 0);
    s.park_young("young");
    s.park_one("old, behind the young one");
    s.start();
    REQUIRE(s.await_depth(s.parking, 2));
    CHECK(
        s.daemon.await_log("21 messages parked in '" + s.parking + "' for longer than parked_age allows: archived in"));
    std::ostringstream before;
    before << std::ifstream(exported, std::ios::binary).rdbuf();
    CHECK(comparable(s.archived(), s.client) == comparable(before.str(), s.client));
    struct stat status {};
    REQUIRE(stat(s.archive().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600);
    CHECK(s.archive().find(s.parking + "-20") != std::string::npos);
    CHECK(s.drain(s.parking, 2) == std::vector<std::string>{"young", "old, behind the young one"});
    CHECK(s.parked("import " + s.archive()).says({"21 of 21 messages imported"}));
    std::filesystem::remove(exported);
    s.stop();
}

TEST_CASE("parked_age with drop: what is too old is gone for good, and counted", "[one-version]") {
    AgeScene s;
    s.entry().parked_age = "{max: 30m, drop: true}";
    s.park(1'000);
    s.park_young("young");
    s.start();
    REQUIRE(s.await_depth(s.parking, 1));
    CHECK(s.daemon.await_log("1000 messages parked in '" + s.parking + "' for longer than parked_age allows: dropped"));
    CHECK(s.archive().empty());
    CHECK(s.drain(s.parking, 1) == std::vector<std::string>{"young"});
    s.stop();
}

TEST_CASE("parked_age: where the archive cannot be written all stays parked, it is said once, and goes on later",
          "[one-version]") {
    AgeScene s;
    s.entry().parked_age = "{max: 30m, archive: " + s.folder.file("none") + "}";
    s.park(5);
    s.start();
    REQUIRE(s.daemon.await_log("No such file or directory"));
    CHECK(s.daemon.lines_with({"parked messages in '" + s.parking + "' that are older", "ReadWritePaths="}) == 1);
    REQUIRE(s.await_depth(s.parking, 5));
    s.client.publish("", s.work, {.body = "goes on", .properties = {.delivery_mode = 2}});
    CHECK(s.take(s.work).body == "goes on");
    REQUIRE(std::filesystem::create_directory(s.folder.file("none")));
    s.reload();
    CHECK(s.await_depth(s.parking, 0));
    CHECK(s.daemon.await_log("no longer so: parked messages in"));
    s.stop();
}

TEST_CASE("parked_age: two daemons at once lose nothing, and archive each message once", "[one-version]") {
    AgeScene s;
    s.park(2'000);
    Daemon other;
    other.start(s.config.yaml());
    s.start();
    REQUIRE(s.await_depth(s.parking, 0, seconds(90)));
    REQUIRE(await([&] { return lines_with(s.archived(), {"\"queue\""}) >= 2'000; }, seconds(90)));
    CHECK(lines_with(s.archived(), {"\"queue\""}) == 2'000);
    CHECK(other.terminate() == 0);
    s.stop();
}

TEST_CASE("parked_age: a look touches a few messages in front, however many lie behind, and however often it looks",
          "[one-version][night]") {
    AgeScene s;
    s.park(3);
    const int young = 1'000;
    for (int i = 0; i < young; ++i)
        s.park_young(std::to_string(i));
    REQUIRE(s.await_depth(s.parking, young + 3));
    s.start();
    REQUIRE(s.await_depth(s.parking, young));
    REQUIRE(s.await_looks(1));
    for (int looks = 2; looks < 8; ++looks) {
        s.reload();
        REQUIRE(s.await_looks(looks));
    }
    s.stop();
    REQUIRE(s.await_depth(s.parking, young));
    int touched = 0;
    for (int i = 0; i < young; ++i) {
        const auto message = s.take(s.parking);
        REQUIRE(message.body == std::to_string(i));
        touched += message.redelivered ? 1 : 0;
    }
    CHECK(touched >= 32);
    CHECK(touched < 64);
}

TEST_CASE("parked_age: what has no time of its parking, or claims one that cannot be, is not taken out",
          "[one-version]") {
    AgeScene s;
    s.entry().parked_age = "{max: 30m, drop: true}";
    s.park_one("from the future", {{"retryd-parked-at", timestamp(4'000'000'000)}});
    s.park_one("from beyond all time", {{"retryd-parked-at", timestamp(~0ULL)}});
    s.park_one("a text", {{"retryd-parked-at", longstr("yesterday")}});
    s.client.publish("", s.parking, {.body = "nobody's", .properties = {.delivery_mode = 2}});
    s.park_one("old");
    s.park_young("young");
    s.park_one("old, behind the young one");
    REQUIRE(s.await_depth(s.parking, 7));
    s.start();
    REQUIRE(s.await_depth(s.parking, 6));
    s.stop();
    REQUIRE(s.await_depth(s.parking, 6));
    CHECK(s.drain(s.parking, 6) == std::vector<std::string>{"from the future", "from beyond all time", "a text",
                                                            "nobody's", "young", "old, behind the young one"});
}

TEST_CASE(
    "parked_age: what retryd has not parked itself neither goes because it claims to be old, nor keeps what lies "
    "behind it because it claims to be young",
    "[one-version]") {
    AgeScene s;
    s.entry().parked_age = "{max: 30m, drop: true}";
    const auto now = static_cast<std::uint64_t>(std::time(nullptr));
    for (const auto& [body, at] : {std::pair{"claims to be old", now - 86'400}, {"claims to be young", now - 60}}) {
        const Table forged{{"x-death", array({death_entry(s.work)})},
                           {"retryd-queue", longstr(s.work)},
                           {"retryd-parked-reason", longstr("attempts-exhausted")},
                           {"retryd-parked-at", timestamp(at)},
                           {"retryd-proof", longstr("0123456789abcdef")}};
        s.client.publish("", s.parking, {.body = body, .headers = forged, .properties = {.delivery_mode = 2}});
    }
    s.park_one("old");
    REQUIRE(s.await_depth(s.parking, 3));
    s.start();
    REQUIRE(s.daemon.await_log("1 message parked in '" + s.parking + "' for longer"));
    s.stop();
    CHECK(s.drain(s.parking, 2) == std::vector<std::string>{"claims to be old", "claims to be young"});
}

TEST_CASE("parked_age: taken away while it works, it ends in order: each message is parked or archived, and once",
          "[one-version]") {
    constexpr int messages = 3'000;
    AgeScene s;
    s.park(messages);
    s.start();
    REQUIRE(await([&] { return lines_with(s.archived(), {"\"queue\""}) > 0; }));
    s.entry().parked_age = "";
    s.reload();
    REQUIRE(s.daemon.await_log("reloaded "));
    const auto all_there = [&] {
        return lines_with(s.archived(), {"\"queue\""}) + static_cast<int>(s.depth(s.parking)) == messages;
    };
    CHECK(await(all_there));
    s.stop();
    CHECK(await(all_there));
}

TEST_CASE("parked_age of one entry leaves the messages of another in the same parking queue alone", "[one-version]") {
    AgeScene s;
    const std::string shared = s.queue_name("shared");
    s.entry().parked = shared;
    s.retry(s.work_queue("other"), {"100ms"});
    s.entry().parked = shared;
    s.daemon.write(s.config.yaml());
    REQUIRE(run_retryd("apply -c " + s.daemon.config_file()).code != 1);
    for (int i = 0; i < 4; ++i) {
        s.park_one(std::to_string(i));
        const auto message = s.take(s.parking);
        Message moved{.body = message.body, .headers = message.headers, .properties = {.delivery_mode = 2}};
        s.client.publish("", shared, moved);
    }
    s.client.publish("", shared, {.body = "nobody's", .properties = {.delivery_mode = 2}});
    s.start();
    CHECK(s.await_depth(shared, 1));
    CHECK(lines_with(s.archived(), {"\"queue\""}) == 4);
    CHECK(s.drain(shared, 1) == std::vector<std::string>{"nobody's"});
    s.stop();
}
