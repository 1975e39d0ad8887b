#include "core/message.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/headers.h"
#include "support/catch.h"

namespace retryd::core::owned_message_test {
namespace {

using namespace test;

/// A delivery whose every byte lives on the heap, so that a view left behind in the copy points at freed memory
/// (which AddressSanitizer sees) or at overwritten text (which the comparison sees).
struct Source {
    std::string texts = "type|encoding|correlation|reply|5000|id|kind|alice|app|cluster|name|value|inner|leaf|body";
    Headers headers;
    Delivery delivery;

    Source() {
        std::size_t at = 0;
        const auto next = [&] {
            const std::size_t end = std::min(texts.find('|', at), texts.size());
            const auto word = std::string_view{texts}.substr(at, end - at);
            at = end + 1;
            return word;
        };
        Properties& properties = delivery.message.properties;
        for (auto* text : {&properties.content_type, &properties.content_encoding, &properties.correlation_id,
                           &properties.reply_to, &properties.expiration, &properties.message_id, &properties.type,
                           &properties.user_id, &properties.app_id, &properties.cluster_id})
            *text = next();
        const auto name = next();
        const auto value = next();
        const auto inner = next();
        const Value leaf{Kind::bytes, next()};
        const Value nested = headers.table({{inner, headers.array({leaf, number(7), headers.table({{inner, leaf}})})}});
        properties.headers = headers.fields({{name, text(value)}, {name, nested}, {inner, seconds(9)}});
        delivery.message.body = next();
        delivery.tag = 42;
        delivery.redelivered = true;
    }

    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    Source(Source&&) = delete;
    Source& operator=(Source&&) = delete;
    ~Source() { texts.assign(texts.size(), '#'); }
};

std::string describe(const std::optional<std::string_view>& text) {
    return text ? std::string{*text} : "(absent)";
}

std::string texts_of(const Properties& properties) {
    std::string line;
    for (const auto& text : {properties.content_type, properties.content_encoding, properties.correlation_id,
                             properties.reply_to, properties.expiration, properties.message_id, properties.type,
                             properties.user_id, properties.app_id, properties.cluster_id})
        line += describe(text) + ' ';
    return line;
}

void check_is_the_source(const Delivery& copy) {
    CHECK(copy.tag == 42);
    CHECK(copy.redelivered);
    CHECK(copy.message.body == "body");
    CHECK(texts_of(copy.message.properties) == "type encoding correlation reply 5000 id kind alice app cluster ");
    REQUIRE(copy.message.properties.headers.has_value());
    CHECK(test::describe(*copy.message.properties.headers) ==
          "{name=S:value, name=F:{inner=A:[x:leaf, l:7, F:{inner=x:leaf}]}, inner=T:9}");
}

}  // namespace

TEST_CASE("the bytes of a copy are its body, its texts and its fields, however small these are") {
    Headers headers;
    std::vector<Field> many(1'000, Field{"k", number(1)});
    Delivery delivery;
    delivery.message.body = "body";
    CHECK(OwnedDelivery{delivery}.bytes() == 4);
    delivery.message.properties.headers = Table{many.data(), many.size()};
    CHECK(OwnedDelivery{delivery}.bytes() == 4 + many.size() * (sizeof(Field) + 1));
}

TEST_CASE("an owned delivery outlives all that it was copied from") {
    auto source = std::make_unique<Source>();
    const OwnedDelivery owned{source->delivery};
    source.reset();
    check_is_the_source(owned.get());
}

TEST_CASE("moving an owned delivery keeps its views valid") {
    auto source = std::make_unique<Source>();
    OwnedDelivery first{source->delivery};
    source.reset();
    const char* const body = first.get().message.body.data();
    OwnedDelivery second{std::move(first)};
    check_is_the_source(second.get());
    CHECK(second.get().message.body.data() == body);
    OwnedDelivery third{Delivery{}};
    third = std::move(second);
    check_is_the_source(third.get());
}

TEST_CASE("numbers among the properties are copied, and what is absent stays absent") {
    Delivery source;
    source.message.properties.priority = std::uint8_t{7};
    source.message.properties.delivery_mode = std::uint8_t{1};
    source.message.properties.timestamp = 1'600'000'000;
    const OwnedDelivery owned{source};
    const Properties& properties = owned.get().message.properties;
    CHECK(properties.priority == 7);
    CHECK(properties.delivery_mode == 1);
    CHECK(properties.timestamp == 1'600'000'000);
    CHECK_FALSE(properties.headers.has_value());
    CHECK(texts_of(properties) ==
          "(absent) (absent) (absent) (absent) (absent) (absent) (absent) (absent) (absent) (absent) ");
}

TEST_CASE("what is present but empty stays present") {
    Headers headers;
    Delivery source;
    source.message.properties.message_id = "";
    source.message.properties.headers = headers.fields({{"a", headers.array({})}, {"t", headers.table({})}, {"", {}}});
    const OwnedDelivery owned{source};
    CHECK(owned.get().message.properties.message_id.value_or("(absent)") == "");
    CHECK(test::describe(*owned.get().message.properties.headers) == "{a=A:[], t=F:{}, =V:}");
    source.message.properties.headers = Table{};
    CHECK(OwnedDelivery{source}.get().message.properties.headers.has_value());
}

TEST_CASE("every kind of header value is copied as it is") {
    Headers headers;
    std::vector<Field> fields;
    for (const Value& value : headers.one_of_each())
        fields.push_back({"h", value});
    Delivery source;
    source.message.properties.headers = headers.fields(fields);
    const OwnedDelivery owned{source};
    CHECK(equal(*owned.get().message.properties.headers, *source.message.properties.headers));
}

TEST_CASE("a large body and many headers are copied whole") {
    const std::string body(3'000'000, 'b');
    const std::string value(1000, 'v');
    Headers headers;
    Delivery source;
    source.message.body = body;
    source.message.properties.headers = headers.fields(std::vector<Field>(500, Field{"name", text(value)}));
    const OwnedDelivery owned{source};
    CHECK(owned.get().message.body == body);
    CHECK(owned.get().message.body.data() != body.data());
    CHECK(equal(*owned.get().message.properties.headers, *source.message.properties.headers));
}

}  // namespace retryd::core::owned_message_test
