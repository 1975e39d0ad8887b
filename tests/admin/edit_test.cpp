#include "admin/edit.h"

#include <array>
#include <bit>
#include <string>
#include <vector>

#include "admin/parked.h"
#include "support/catch.h"

// What a person may change in a parked message, and what is written down about it.

namespace retryd::admin::edit_test {
namespace {

using core::Field;
using core::Kind;
using core::Value;
using Names = std::vector<std::string>;

core::Value text(std::string_view value) {
    return Value::of_longstr(value);
}

/// A message with these headers, which it does not own.
core::Message with(const std::vector<Field>& headers, std::string_view body = "x") {
    core::Message message;
    message.properties.headers = core::Table{headers.data(), headers.size()};
    message.body = body;
    return message;
}

Names names_of(const core::Table& headers) {
    Names names;
    for (const Field& field : headers)
        names.emplace_back(field.name);
    return names;
}

}  // namespace

TEST_CASE("what was changed is named: properties, headers and the body") {
    const std::vector<Field> before{{"tenant", text("acme")}, {"gone", text("a")}, {"same", text("b")}};
    const std::vector<Field> after{{"same", text("b")}, {"tenant", text("Acme")}, {"new", Value::of_long(1)}};
    core::Message was = with(before, "old");
    core::Message is = with(after, "new");
    was.properties.type = "order";
    is.properties.priority = 3;
    CHECK(changed_fields(was, is) == Names{"type", "priority", "header gone", "header new", "header tenant", "body"});
    CHECK(changed_fields(was, was).empty());
}

TEST_CASE("a header is another one with another type, with other bits, or as often as not") {
    const auto differ = [](const std::vector<Field>& one, const std::vector<Field>& other) {
        return !changed_fields(with(one), with(other)).empty();
    };
    CHECK(differ({{"a", Value::of_long(1)}}, {{"a", {Kind::int32, std::int64_t{1}}}}));
    CHECK(differ({{"a", text("1")}}, {{"a", text("1")}, {"a", text("1")}}));
    CHECK(differ({{"a", text("1")}, {"a", text("2")}}, {{"a", text("2")}, {"a", text("1")}}));
    CHECK_FALSE(differ({{"a", text("1")}, {"b", text("2")}}, {{"b", text("2")}, {"a", text("1")}}));
    const double nan = std::bit_cast<double>(std::uint64_t{0x7ff8'0000'0000'0abc});
    const double other_nan = std::bit_cast<double>(std::uint64_t{0x7ff8'0000'0000'0abd});
    CHECK_FALSE(differ({{"a", {Kind::float64, nan}}}, {{"a", {Kind::float64, nan}}}));
    CHECK(differ({{"a", {Kind::float64, nan}}}, {{"a", {Kind::float64, other_nan}}}));
}

TEST_CASE("headers of retryd's and of the broker's are not there to be changed, and stay") {
    for (const char* name : {"retryd-queue", "retryd-proof", "retryd-anything", "x-death", "x-first-death-queue",
                             "x-last-death-reason", "x-delivery-count", "x-acquired-count"})
        CHECK_FALSE(is_editable_header(name));
    for (const char* name : {"tenant", "x-tenant", "CC", "", "Retryd-queue"})
        CHECK(is_editable_header(name));
    const std::vector<Field> before{
        {"retryd-queue", text("email")}, {"tenant", text("acme")}, {"x-delivery-count", Value::of_long(3)}};
    const std::vector<Field> after{{"tenant", text("Acme")}, {"retryd-queue", text("forged")}};
    EditScratch scratch;
    const core::Message edited = compose_edited(with(before), with(after, "new"), {1, "me@here", {"body"}}, scratch);
    const core::Table headers = edited.properties.header_table();
    CHECK(names_of(headers) == Names{"tenant", "retryd-queue", "retryd-edited"});
    CHECK(text_of(find(headers, "retryd-queue")) == "email");
    CHECK(text_of(find(headers, "tenant")) == "Acme");
    CHECK(edited.body == "new");
}

TEST_CASE("who changed what, and when, is on top of what was written down before") {
    EditScratch first;
    EditScratch second;
    const std::vector<Field> none;
    const core::Message original = with(none);
    const core::Message once = compose_edited(original, original, {10, "ann@here", {"body"}}, first);
    const core::Message twice = compose_edited(once, once, {20, "bob@there", {"type", "header a"}}, second);
    const auto edits = read_edits(twice.properties.header_table());
    REQUIRE(edits.size() == 2);
    CHECK(edits[0].time == 20);
    CHECK(edits[0].by == "bob@there");
    CHECK(edits[0].fields == std::vector<std::string_view>{"type", "header a"});
    CHECK(edits[1].by == "ann@here");
    CHECK(find(twice.properties.header_table(), "retryd-edited")->kind == Kind::array);
}

TEST_CASE("of many edits the newest stay, of many fields the first, of long texts the beginning") {
    const std::string very_long(1'000, 'x');
    const std::vector<std::string_view> many(100, very_long);
    std::array<EditScratch, 20> scratch;
    const std::vector<Field> none;
    core::Message message = with(none);
    for (std::size_t i = 0; i < scratch.size(); ++i)
        message = compose_edited(message, message, {i, very_long, many}, scratch[i]);
    const auto edits = read_edits(message.properties.header_table());
    REQUIRE(edits.size() == most_edits);
    CHECK(edits.front().time == 19);
    CHECK(edits.front().by.size() == longest_edit_text);
    CHECK(edits.front().fields.size() == most_edited_fields);
    CHECK(edits.front().fields.front().size() == longest_edit_text);
}

TEST_CASE("a forged retryd-edited is read as far as it has that form") {
    const std::vector<Field> nasty{{"time", text("soon")}, {"by", Value::of_long(1)}, {"fields", text("all")}};
    const std::array values{Value{Kind::table, core::Table{nasty.data(), nasty.size()}}, text("no table"),
                            Value{Kind::table, core::Table{}}};
    const auto read = [](const Value& value) {
        const std::vector<Field> headers{{"retryd-edited", value}};
        return read_edits(core::Table{headers.data(), headers.size()});
    };
    const auto edits = read({Kind::array, core::Array{values.data(), values.size()}});
    REQUIRE(edits.size() == 1);
    CHECK(edits[0].time == 0);
    CHECK(edits[0].by.empty());
    CHECK(edits[0].fields.empty());
    CHECK(read(text("x")).empty());
}

TEST_CASE("one message is told from all others by everything but the broker's counts") {
    const std::vector<Field> headers{{"a", text("1")}, {"retryd-queue", text("email")}};
    std::vector<Field> counted = headers;
    counted.insert(counted.begin(), {"x-delivery-count", Value::of_long(7)});
    const core::Message message = with(headers);
    CHECK(same_message(message, with(counted)));
    CHECK(same_message(message, with({headers[1], headers[0]})));
    CHECK_FALSE(same_message(message, with(headers, "y")));
    CHECK_FALSE(same_message(message, with({{"a", text("1")}})));
    core::Message other = message;
    other.properties.message_id = "";
    CHECK_FALSE(same_message(message, other));
    Selection selection;
    CHECK(selection.everything());
    selection.exactly = &message;
    CHECK_FALSE(selection.everything());
    CHECK(selects(selection, {}, with(counted)));
    CHECK_FALSE(selects(selection, {}, other));
}

}  // namespace retryd::admin::edit_test
