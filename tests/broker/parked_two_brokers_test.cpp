// `retryd parked export` on one broker and `import` on another of another version, and back. The second broker is the
// one that RETRYD_OTHER_AMQP_URI names (tests/broker/CMakeLists.txt).
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "every_type.h"
#include "support/catch.h"
#include "support/parked_scene.h"

using namespace retryd::test;

namespace {

std::string written_in(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

std::string every_byte() {
    std::string body(256, '\0');
    std::iota(body.begin(), body.end(), '\0');
    return body;
}

/// A parking queue on this broker, and the same, still empty, on the other one.
struct TwoBrokers : ParkedScene {
    TwoBrokers()
        : there(parse_address(variable("RETRYD_OTHER_AMQP_URI"))),
          other(there),
          file(daemon.config_file() + ".ndjson") {
        here = config.uris;
        on_the_other();
        daemon.write(config.yaml());
        REQUIRE(run_retryd("apply -c " + daemon.config_file()).code != 1);
        on_this_one();
    }
    ~TwoBrokers() {
        for (const char* end : {"1", "2", "3"})
            std::filesystem::remove(file + end);
    }

    void on_the_other() { config.uris = {uri_of(there)}; }
    void on_this_one() { config.uris = here; }

    void park_odd_ones() {
        park_one(every_byte(), one_of_each("own-"));
        park_one("", {{"twice", longstr("a")}, {"twice", longstr("\xff")}, {"\"\\\n\x1b", longstr("name")}});
        park_one(std::string(1'000'000, 'x') + "\xf0\x9f\x91\xa9");
        const Properties all{.content_type = "application/json; charset=\"x\"",
                             .content_encoding = "",
                             .delivery_mode = 2,
                             .priority = 3,
                             .correlation_id = "\xff\xfe",
                             .reply_to = "reply",
                             .message_id = "message",
                             .timestamp = 1'700'000'000,
                             .type = "type",
                             .user_id = "guest",
                             .app_id = "app",
                             .cluster_id = "cluster"};
        client.publish("", parking, {.body = "no header", .properties = all});
    }

    Address there;
    Client other;
    std::string file;

  private:
    std::vector<std::string> here;
};

/// All messages of the queue, in order.
std::vector<Received> taken(Client& client, const std::string& queue) {
    std::vector<Received> found;
    while (auto message = client.get(queue)) {
        client.ack(message->tag);
        found.push_back(std::move(*message));
    }
    return found;
}

Table headers_of(const Received& message) {
    return sorted(without(message.headers, {"x-delivery-count", "x-acquired-count"}));
}

}  // namespace

TEST_CASE("parked export and import: from one broker to another of another version and back is exact",
          "[.two-brokers]") {
    constexpr std::size_t messages = 10;
    TwoBrokers s;
    REQUIRE(s.client.broker_version() != s.other.broker_version());
    s.park(6);
    s.park_odd_ones();
    REQUIRE(s.await_depth(s.parking, messages));
    REQUIRE(s.parked("export " + s.file + "1").code == 0);
    REQUIRE(s.await_depth(s.parking, messages));
    const std::vector<Received> before = taken(s.client, s.parking);
    REQUIRE(before.size() == messages);

    s.on_the_other();
    CHECK(s.parked("import " + s.file + "1").says({"10 of 10 messages imported"}));
    CHECK(s.parked("export " + s.file + "2").says({"10 messages exported"}));
    CHECK(written_in(s.file + "1") == written_in(s.file + "2"));
    REQUIRE(await([&] { return s.other.look_at(s.parking)->messages == messages; }));
    const std::vector<Received> after = taken(s.other, s.parking);
    REQUIRE(after.size() == messages);
    for (std::size_t i = 0; i < messages; ++i) {
        CAPTURE(i);
        CHECK(after[i].body == before[i].body);
        CHECK(after[i].properties == before[i].properties);
        CHECK(headers_of(after[i]) == headers_of(before[i]));
    }

    s.on_this_one();
    CHECK(s.parked("import " + s.file + "2").says({"10 of 10 messages imported"}));
    CHECK(s.parked("export " + s.file + "3").says({"10 messages exported"}));
    CHECK(written_in(s.file + "1") == written_in(s.file + "3"));
    CHECK(s.parked("replay --header third=yes --rate unlimited").code == 0);  // their proof still counts
    CHECK(s.drain(s.work, 2) == bodies(6, true));
}
