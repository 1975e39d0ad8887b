// What an AMQP 1.0 consumer gets back of a message of AMQP 1.0 that it has rejected. Between two deliveries there is a
// hop of AMQP 0-9-1, which cannot say all of it. docs/reference.md ("Messages of AMQP 1.0") has a line for each thing
// that does not come back as it was, and so has this test. Tried on 4.0.5 and 4.3.6.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amqp/amqp10/receiver.h"
#include "support/catch.h"
#include "support/other_protocols.h"
#include "support/scenario.h"

using namespace retryd::test;
using retryd::amqp::amqp10::Item;
using retryd::amqp::amqp10::take_item;

namespace {

/// By section and name: the type, and the value as far as it is text or a number, else its bytes.
using Parts = std::map<std::string, std::string>;

std::uint64_t number_of(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char c : bytes)
        value = value << 8U | static_cast<std::uint8_t>(c);
    return value;
}

std::string hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        text += digits[static_cast<std::uint8_t>(c) >> 4U];
        text += digits[static_cast<std::uint8_t>(c) & 0xfU];
    }
    return text;
}

std::string describe(const Item& item) {
    static const std::map<std::uint8_t, std::string> numbers{
        {0x43, "uint"},  {0x52, "uint"}, {0x70, "uint"},   {0x44, "ulong"}, {0x53, "ulong"},
        {0x80, "ulong"}, {0x54, "int"},  {0x71, "int"},    {0x55, "long"},  {0x81, "long"},
        {0x50, "ubyte"}, {0x51, "byte"}, {0x60, "ushort"}, {0x61, "short"}, {0x83, "timestamp"}};
    static const std::map<std::uint8_t, std::string> texts{{0xa1, "string"}, {0xb1, "string"}, {0xa3, "symbol"},
                                                           {0xb3, "symbol"}, {0xa0, "binary"}, {0xb0, "binary"}};
    static const std::map<std::uint8_t, std::string> others{{0x40, "null"},  {0x41, "true"},   {0x42, "false"},
                                                            {0x72, "float"}, {0x82, "double"}, {0x98, "uuid"},
                                                            {0x73, "char"}};
    if (item.constructor == 0x56) return number_of(item.bytes) == 1 ? "true" : "false";
    if (const auto found = numbers.find(item.constructor); found != numbers.end())
        return found->second + " " + std::to_string(number_of(item.bytes));
    if (const auto found = texts.find(item.constructor); found != texts.end())
        return found->second + " " + std::string(item.bytes);
    if (const auto found = others.find(item.constructor); found != others.end())
        return found->second + (item.bytes.empty() ? "" : " " + hex(item.bytes));
    return "0x" + hex(std::string(1, static_cast<char>(item.constructor))) + " " + hex(item.bytes);
}

/// What the broker and retryd write on the way.
bool is_theirs(std::string_view name) {
    return name.starts_with("x-death") || name.starts_with("x-first-death") || name.starts_with("x-last-death") ||
           name.starts_with("x-exchange") || name.starts_with("x-routing-key") || name.starts_with("x-opt-") ||
           name.starts_with("x-delivery") || name.starts_with("x-acquired") || name.starts_with("retryd-");
}

void add_map(const Item& section, const std::string& prefix, Parts& parts) {
    const std::vector<Item> items = section.items();
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
        const std::string name(items[i].text().value_or("?"));
        if (!is_theirs(name)) parts[prefix + name] = describe(items[i + 1]);
    }
}

void add_list(const Item& section, const std::vector<std::string>& names, Parts& parts) {
    const std::vector<Item> items = section.items();
    for (std::size_t i = 0; i < items.size() && i < names.size(); ++i)
        if (items[i].constructor != 0x40) parts[names[i]] = describe(items[i]);
}

Parts parts_of(std::string_view message) {
    static const std::vector<std::string> header{"durable", "priority", "ttl"};
    static const std::vector<std::string> properties{"message-id",       "user-id",          "to",
                                                     "subject",          "reply-to",         "correlation-id",
                                                     "content-type",     "content-encoding", "absolute-expiry-time",
                                                     "creation-time",    "group-id",         "group-sequence",
                                                     "reply-to-group-id"};
    Parts parts;
    while (!message.empty()) {
        const auto section = take_item(message);
        REQUIRE(section);
        const std::uint64_t code = section->code.value_or(0);
        if (code == 0x70) add_list(*section, header, parts);  // and of each delivery its own
        if (code == 0x72) add_map(*section, "annotation ", parts);
        if (code == 0x73) add_list(*section, properties, parts);
        if (code == 0x74) add_map(*section, "application-property ", parts);
        if (code == 0x75 || code == 0x76 || code == 0x77)
            parts["body"] += hex(std::string(1, static_cast<char>(code))) + ":" + describe(*section) + ";";
        if (code == 0x78) add_map(*section, "footer ", parts);
    }
    return parts;
}

std::vector<std::string> differences(const Parts& was, const Parts& is) {
    std::vector<std::string> lines;
    const auto value = [](const Parts& parts, const std::string& name) {
        const auto found = parts.find(name);
        return found == parts.end() ? std::string("absent") : found->second;
    };
    Parts all = was;
    all.insert(is.begin(), is.end());
    for (const auto& [name, either] : all)
        if (value(was, name) != value(is, name))
            lines.push_back(name + ": " + value(was, name) + " -> " + value(is, name));
    return lines;
}

struct Amqp10RoundTrip : Scenario {
    Amqp10RoundTrip() : work(quorum_work_queue("work")) {
        retry(work, {"100ms"});
        start();
    }
    std::vector<std::string> changes(const std::string& message) {
        amqp10::publish_encoded(work, message);
        const Parts was = parts_of(amqp10::take_and_reject(work));
        const Parts is = parts_of(amqp10::take_and_accept(work));
        return differences(was, is);
    }
    std::string work;
};

const std::string null_value = "\x40";
const std::string true_value = "\x41";
const std::string false_value = "\x42";
std::string unsigned_int(std::uint32_t value) {
    std::string text = "\x70";
    for (int i = 3; i >= 0; --i)
        text += static_cast<char>(value >> (8U * static_cast<unsigned>(i)));
    return text;
}
std::string wide(char constructor, std::uint64_t value) {
    std::string text = amqp10::ulong(value);
    text[0] = constructor;
    return text;
}
std::string ids(const std::string& message_id, const std::string& correlation_id) {
    return amqp10::list_section(0x73, {message_id, null_value, null_value, null_value, null_value, correlation_id});
}
std::string data(const std::string& body) {
    return std::string("\0\x53\x75", 3) + amqp10::binary(body);
}

}  // namespace

TEST_CASE("AMQP 1.0: what comes back of a message that is rejected is what the reference says, section by section",
          "[two-versions][since-4.0]") {
    Amqp10RoundTrip s;
    using Lines = std::vector<std::string>;
    const std::string body = data("body");
    const std::string durable = amqp10::list_section(0x70, {true_value});

    CHECK(s.changes(amqp10::list_section(0x70, {true_value, std::string("\x50\x07", 2), unsigned_int(60'000)}) +
                    body) == Lines{"ttl: uint 60000 -> absent"});
    CHECK(s.changes(amqp10::list_section(0x70, {false_value}) + body) == Lines{"durable: false -> true"});
    CHECK(s.changes(durable +
                    amqp10::map_section(0x72, {{"x-text", amqp10::text("t")}, {"x-symbol", amqp10::symbol("s")}}) +
                    body) == Lines{"annotation x-symbol: symbol s -> string s"});
    CHECK(s.changes(durable +
                    amqp10::list_section(
                        0x73, {amqp10::text("id"), amqp10::binary(broker_address().user), amqp10::text("/queues/a"),
                               amqp10::text("subject"), amqp10::text("/queues/answers"), amqp10::text("correlation"),
                               amqp10::symbol("text/plain"), amqp10::symbol("gzip"), wide('\x83', 4'000'000'000'123),
                               wide('\x83', 1'700'000'000'456), amqp10::text("group"), unsigned_int(7),
                               amqp10::text("reply group")}) +
                    body) == Lines{"absolute-expiry-time: timestamp 4000000000123 -> absent",
                                   "creation-time: timestamp 1700000000456 -> timestamp 1700000000000",
                                   "group-sequence: uint 7 -> absent",
                                   "reply-to-group-id: string reply group -> absent",
                                   "subject: string subject -> absent", "to: string /queues/a -> absent"});
    CHECK(s.changes(durable + ids(amqp10::uuid(), amqp10::uuid()) + body) == Lines{});
    CHECK(s.changes(durable + ids(amqp10::ulong(7), amqp10::ulong(8)) + body) ==
          Lines{"correlation-id: ulong 8 -> string 8", "message-id: ulong 7 -> string 7"});
    CHECK(s.changes(durable + ids(amqp10::binary("m"), amqp10::binary("c")) + body) ==
          Lines{"annotation x-correlation-id: absent -> binary c", "annotation x-message-id: absent -> binary m",
                "correlation-id: binary c -> absent", "message-id: binary m -> absent"});
    const std::string nul(1, '\0');
    CHECK(s.changes(durable +
                    amqp10::map_section(0x74, {{"text", amqp10::text("t")},
                                               {"symbol", amqp10::symbol("s")},
                                               {"binary", amqp10::binary("b")},
                                               {"true", true_value},
                                               {"null", null_value},
                                               {"ubyte", std::string("\x50\x07")},
                                               {"byte", std::string("\x51\x07")},
                                               {"ushort", "\x60" + nul + "\x07"},
                                               {"short", "\x61" + nul + "\x07"},
                                               {"uint", unsigned_int(7)},
                                               {"int", "\x71" + nul + nul + nul + "\x07"},
                                               {"ulong", amqp10::ulong(7)},
                                               {"long", wide('\x81', 7)},
                                               {"float", "\x72\x3f\x80" + nul + nul},
                                               {"double", wide('\x82', 0x3ff8'0000'0000'0000)},
                                               {"timestamp", wide('\x83', 1'700'000'000'456)}}) +
                    body) == Lines{"application-property binary: binary b -> string b",
                                   "application-property symbol: symbol s -> string s",
                                   "application-property timestamp: timestamp 1700000000456 -> timestamp "
                                   "1700000000000",
                                   "application-property ulong: ulong 7 -> long 7"});
    CHECK(s.changes(durable + data("one") + data("two")) ==
          Lines{"body: 75:binary one;75:binary two; -> 75:binary onetwo;"});
    CHECK(s.changes(durable + std::string("\0\x53\x77", 3) + amqp10::text("value")) ==
          Lines{"annotation x-basic-type: absent -> string amqp-1.0"});
    CHECK(s.changes(durable + std::string("\0\x53\x76\xc0\x03\x02\x41\x42", 8)) ==
          Lines{"annotation x-basic-type: absent -> string amqp-1.0"});
    s.stop();
}

TEST_CASE("AMQP 1.0: a message with a footer cannot be handed over, and comes to the catch-all",
          "[two-versions][slow][since-4.0]") {
    Amqp10RoundTrip s;
    amqp10::publish_encoded(s.work, data("body") + amqp10::map_section(0x78, {{"checksum", amqp10::text("c")}}));
    amqp10::take_and_reject(s.work);
    CHECK(s.await_depth(s.config.catch_all, 1, seconds(60)));
    s.stop();
}
