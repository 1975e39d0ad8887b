#include "broker/foreign_gallery.h"

#include <utility>

#include "support/other_protocols.h"

namespace retryd::test {

namespace {

const std::string odd_text = "\x1b[31m\u009b2J\u202eevil\u2066\u2028\u200b'\"<script>";
const std::string long_text(300, 'x');

class ForeignGallery {
  public:
    ForeignGallery(std::string queue, const Version& version) : queue_(std::move(queue)), version_(version) {}

    std::vector<ForeignMessage> hang() {
        texts();
        types();
        claims();
        claims_in_texts();
        sizes();
        mqtt();
        stomp();
        undeliverable();
        return std::move(gallery_);
    }

  private:
    void add(const std::string& what, amqp10::Message message) {
        gallery_.push_back(
            {"AMQP 1.0, " + what, [queue = queue_, message = std::move(message)] { amqp10::publish(queue, message); }});
    }
    void property(const std::string& what, const std::string& encoded) {
        add("a property of the type " + what, {.application_properties = {{"p", encoded}}});
    }
    void topic(const std::string& what, const std::string& topic, const std::string& body) {
        gallery_.push_back({"MQTT, " + what, [topic, body] { publish_mqtt(topic, body); }});
    }
    void type_of_stomp(const std::string& what, const std::string& content_type, const std::string& body) {
        gallery_.push_back(
            {"STOMP, " + what, [queue = queue_, content_type, body] { publish_stomp(queue, content_type, body); }});
    }

    void texts() {
        add("nothing", {});
        add("a nasty property", {.application_properties = {{odd_text, amqp10::text(odd_text)}}});
        add("a nasty annotation", {.annotations = {{"x-opt-" + odd_text, amqp10::text(odd_text)}}});
        add("a nasty id", {.message_id = amqp10::text(odd_text)});
        add("an id that is no text", {.message_id = amqp10::binary("\xff\xfe\x1b")});
        add("an id that is a uuid", {.message_id = amqp10::uuid()});
        add("a nasty type", {.content_type = "text/" + std::string("\x1b[2J")});
        add("a nasty body", {.body = odd_text + "\xff\xc3("});
        add("an empty body", {.body = ""});
    }

    void types() {
        property("null", "\x40");
        property("boolean", "\x41");
        property("ubyte", "\x50\xff");
        property("ushort", "\x60\xff\xff");
        property("uint", "\x70\xff\xff\xff\xff");
        property("ulong", amqp10::ulong(~std::uint64_t{0}));
        property("byte", "\x51\x80");
        property("short", std::string("\x61\x80\0", 3));
        property("int", std::string("\x71\x80\0\0\0", 5));
        property("long", std::string("\x81\x80\0\0\0\0\0\0\0", 9));
        property("float", std::string("\x72\x7f\x80\0\0", 5));
        property("double", std::string("\x82\x7f\xf0\0\0\0\0\0\0", 9));
        property("timestamp", "\x83\x7f" + std::string(7, '\xff'));
        property("binary", amqp10::binary(odd_text));
        property("symbol", amqp10::symbol("a symbol"));
    }

    /// Of having been retryd's, or dead.
    void claims() {
        add("that it was parked", {.application_properties = {{"retryd-queue", amqp10::text("victim")},
                                                              {"retryd-parked-reason", amqp10::text("too-old")},
                                                              {"retryd-attempt", amqp10::ulong(7)}}});
        add("that it has died, in a property", {.application_properties = {{"x-death", amqp10::text(odd_text)}}});
        add("that it has died, in an annotation", {.annotations = {{"x-death", amqp10::text(odd_text)}}});
        add("the broker's own annotations", {.annotations = {{"x-first-death-queue", amqp10::text("victim")},
                                                             {"x-delivery-count", amqp10::ulong(1'000)},
                                                             {"x-exchange", amqp10::text(odd_text)},
                                                             {"x-routing-key", amqp10::text("victim")}}});
    }

    /// As texts, the only type that MQTT and STOMP have; to which RabbitMQ makes them headers.
    void claims_in_texts() {
        const Texts claims{{"x-death", "[{queue=victim,reason=rejected,count=-1}]"},
                           {"x-first-death-queue", "victim"},
                           {"x-delivery-count", "-1"},
                           {"retryd-queue", "victim"},
                           {"retryd-attempt", "99999999999999999999"},
                           {"retryd-parked-reason", odd_text},
                           {"retryd-proof", "0000000000000000"},
                           {"CC", "victim"},
                           {"x-opt-retry", "never"}};
        Texts safe = claims;
        std::erase_if(safe, [](const auto& claim) { return claim.second == odd_text; });
        stomp_with("claims of having been retryd's", safe);
        stomp_with("the same header twice", {{"x-death", "one"}, {"x-death", "two"}});
        if (version_ < Version{4, 0}) return;
        mqtt5_with("claims of having been retryd's", claims);
        Texts many;
        for (int i = 0; i < 300; ++i)
            many.emplace_back("x-death", "victim");
        mqtt5_with("300 x-deaths", many);
        mqtt5_with("a nasty name", {{odd_text, odd_text}});
        add("that it has died, as the broker would say it",
            {.annotations = {{"x-death", amqp10::map_section(0x72, {{"queue", amqp10::text("victim")},
                                                                    {"reason", amqp10::symbol("rejected")},
                                                                    {"count", amqp10::ulong(~std::uint64_t{0})}})
                                             .substr(3)},
                             {"x-first-death-reason", amqp10::ulong(1)}}});
    }
    void stomp_with(const std::string& what, const Texts& headers) {
        gallery_.push_back(
            {"STOMP, " + what, [queue = queue_, headers] { publish_stomp(queue, "text/plain", "s", headers); }});
    }
    void mqtt5_with(const std::string& what, const Texts& properties) {
        gallery_.push_back({"MQTT 5, " + what, [properties] { publish_mqtt5("a/b", properties, "mqtt 5"); }});
    }

    void sizes() {
        add("a property of a million bytes",
            {.application_properties = {{"large", amqp10::text(std::string(1'000'000, 'x'))}}});
        amqp10::Message many;
        for (int i = 0; i < 2'000; ++i)
            many.application_properties.emplace_back("p" + std::to_string(i), amqp10::ulong(1));
        add("2,000 properties", many);
        add("a body of two million bytes", {.body = std::string(2'000'000, 'x')});
    }

    void mqtt() {
        topic("a nasty topic", "a/" + odd_text, "mqtt");
        topic("levels without a name", "///", "mqtt");
        topic("no body", "a/b", "");
        topic("a topic of 255 bytes", std::string(255, 't'), "mqtt");
    }

    void stomp() {
        type_of_stomp("a nasty type", "text/" + std::string("\u009b2J\u202e"), "stomp");
        type_of_stomp("no type", "", "stomp");
        type_of_stomp("a nasty body", "text/plain", odd_text);
    }

    /// RabbitMQ ends the connection that consumes: two, for each takes its time (undeliverable_test.cpp has all of
    /// them).
    void undeliverable() {
        topic("a topic that is too long", long_text, "mqtt");
        if (version_ < Version{4, 0}) return add("an id that is a number", {.message_id = amqp10::ulong(1)});
        property("uuid", amqp10::uuid());
    }

    std::string queue_;
    Version version_;
    std::vector<ForeignMessage> gallery_;
};

}  // namespace

std::vector<ForeignMessage> foreign_gallery(const std::string& queue, const Version& version) {
    return ForeignGallery(queue, version).hang();
}

}  // namespace retryd::test
