// Which messages of AMQP 1.0 end the connection of a consumer by AMQP 0-9-1 (541): the table in docs/operations.md.
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/other_protocols.h"
#include "support/scenario.h"

using namespace retryd::test;

TEST_CASE("what RabbitMQ cannot hand over of AMQP 1.0 is what the table in docs/operations.md says, from any queue",
          "[since-4.0]") {
    Scenario s;
    const Version version = version_of(s.client);
    const std::string body = std::string("\0\x53\x75\xa0\x01x", 6);
    const auto property = [&](const std::string& value) { return amqp10::map_section(0x74, {{"a", value}}) + body; };
    const std::string null = "\x40";
    const std::vector<std::pair<std::string, std::string>> kinds = {
        {"footer", body + amqp10::map_section(0x78, {{"checksum", amqp10::text("c")}})},
        {"uuid", property(amqp10::uuid())},
        {"char", property(amqp10::character(U'x'))},
        {"decimal32", property(std::string("\x74\0\0\0\1", 5))},
        {"decimal64", property(std::string("\x84\0\0\0\0\0\0\0\1", 9))},
        {"float NaN", property(std::string("\x72\x7f\xc0\0\0", 5))},
        {"double infinite", property(std::string("\x82\x7f\xf0\0\0\0\0\0\0", 9))},
        {"id a boolean", amqp10::list_section(0x73, {"\x41"}) + body},
        {"id a list", amqp10::list_section(0x73, {"\x45"}) + body},
        {"annotation x-basic-type",
         amqp10::map_section(0x72, {{"x-basic-type", amqp10::text(std::string(300, 'x'))}}) + body},
        {"content-type",
         amqp10::list_section(0x73, {null, null, null, null, null, null, amqp10::symbol(std::string(300, 'x'))}) +
             body},
        {"content-encoding",
         amqp10::list_section(0x73, {null, null, null, null, null, null, null, amqp10::symbol(std::string(300, 'x'))}) +
             body},
    };
    const auto outcome_of = [&](const std::string& queue, const std::string& from, const std::string& message) {
        try {
            amqp10::publish_encoded(queue, message);
        } catch (const std::runtime_error&) {
            return std::string("not taken");
        }
        REQUIRE(s.await_depth(from, 1));
        try {
            Client client(broker_address());
            client.consume(from, 1);
            return std::string(client.next(patience) ? "handed over" : "nothing came");
        } catch (const std::runtime_error&) {
            return std::string("ended");
        }
    };
    int number = 0;
    for (const auto& [kind, message] : kinds) {
        CAPTURE(kind);
        const bool until_4_0 = kind.starts_with("decimal") || kind.starts_with("float") || kind.starts_with("double");
        const std::string expected = until_4_0 && version >= Version{4, 3} ? "handed over" : "ended";
        for (const std::string type : {"classic", "quorum"}) {
            const std::string name = type + std::to_string(++number);
            const std::string queue = s.plain_queue(name, {{"x-queue-type", longstr(type)}});
            CHECK(outcome_of(queue, queue, message) == expected);
            const std::string dead = s.plain_queue(name + ".dead", {{"x-queue-type", longstr("quorum")}});
            const std::string dying = s.plain_queue(name + ".dying", {{"x-queue-type", longstr(type)},
                                                                      {"x-message-ttl", int32(1)},
                                                                      {"x-dead-letter-exchange", longstr("")},
                                                                      {"x-dead-letter-routing-key", longstr(dead)}});
            CHECK(outcome_of(dying, dead, message) == expected);
        }
    }
}
