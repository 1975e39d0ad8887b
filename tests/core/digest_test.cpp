#include "core/digest.h"

#include <set>

#include "core/headers.h"
#include "support/catch.h"

namespace retryd::core::digest_test {
namespace {

using namespace test;

std::uint64_t digest_of(Table headers, std::string_view body = "body", std::string_view id = "") {
    Message message;
    message.properties.headers = headers;
    if (!id.empty()) message.properties.message_id = id;
    message.body = body;
    return digest(message);
}

}  // namespace

TEST_CASE("a redelivery of a message has its digest, whatever the broker counts on it") {
    Headers headers;
    const auto once = digest_of(headers.fields({{"x-delivery-count", number(1)}, {"mine", text("a")}}));
    CHECK(once == digest_of(headers.fields({{"x-delivery-count", number(7)}, {"mine", text("a")}})));
    CHECK(once == digest_of(headers.fields({{"mine", text("a")}, {"x-acquired-count", number(7)}})));
}

TEST_CASE("messages that differ have another digest") {
    Headers headers;
    std::set<std::uint64_t> seen;
    seen.insert(digest_of({}));
    seen.insert(digest_of({}, "other"));
    seen.insert(digest_of({}, "body", "id"));
    seen.insert(digest_of(headers.fields({{"mine", text("a")}})));
    seen.insert(digest_of(headers.fields({{"mine", text("b")}})));
    seen.insert(digest_of(headers.fields({{"minea", text("")}})));
    seen.insert(digest_of(headers.deaths({{"email", "rejected", 1}})));
    seen.insert(digest_of(headers.deaths({{"email", "rejected", 2}})));
    for (const Value& value : headers.one_of_each())
        seen.insert(digest_of(headers.fields({{"one", value}})));
    CHECK(seen.size() == 8 + headers.one_of_each().size());
}

}  // namespace retryd::core::digest_test
