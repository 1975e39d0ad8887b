#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "commands/parked/list_and_show.h"
#include "support/catch.h"

// What `retryd parked list --by` counts, and the options that it prints.

namespace retryd::commands::value_groups_test {
namespace {

core::Message message_with(const std::vector<core::Field>& headers) {
    core::Message message;
    message.properties.headers = core::Table{headers.data(), headers.size()};
    return message;
}

GroupValue value_of(core::Value value) {
    const std::vector<core::Field> headers{{"own", std::move(value)}};
    return value_by("own", {}, message_with(headers));
}

/// Whether what selects it does so.
bool selected_by_text(core::Value value) {
    const std::vector<core::Field> headers{{"own", value}};
    admin::Selection selection;
    selection.headers = {{"own", value_of(value).text}};
    return selects(selection, {}, message_with(headers));
}

}  // namespace

TEST_CASE("list --by: the option that is printed for a value selects it") {
    CHECK(options_for("own", {"acme"}) == "--header 'own=acme'");
    CHECK(options_for("reason", {"too-old"}) == "--reason 'too-old'");
    CHECK(options_for("own", {"it's"}) == "--header 'own=it'\\''s'");
    CHECK(options_for("own", {"\x1b[2J\\"}) == "--header $'own=\\x1b[2J\\\\'");
    CHECK(options_for("o\nwn", {"acme"}) == "--header $'o\\x0awn=acme'");

    using core::Kind;
    const core::Value selectable[] = {core::Value::of_longstr("acme"), {Kind::boolean, true},
                                      {Kind::int8, std::int64_t{-5}},  {Kind::uint64, std::uint64_t{5}},
                                      core::Value::of_timestamp(1),    {Kind::bytes, std::string_view{"\xff"}}};
    for (const core::Value& value : selectable) {
        INFO(value_of(value).text);
        CHECK_FALSE(options_for("own", value_of(value)).empty());
        CHECK(selected_by_text(value));
    }
}

TEST_CASE("list --by: no option is printed where none selects") {
    CHECK(options_for("own", {""}).empty());
    CHECK(options_for("a=b", {"c"}).empty());
    CHECK(options_for("own", {std::string("a\0b", 3)}).empty());
    CHECK(options_for("own", {std::string(300, 'x')}).empty());
    CHECK(options_for("own", value_of({core::Kind::float64, 1.5})).empty());
    CHECK(options_for("own", value_of({core::Kind::table, core::Table{}})).empty());
    CHECK(value_of({core::Kind::float64, 1.5}).text == "1.5");
}

TEST_CASE("list --by keeps a bounded number of values and counts every message") {
    ValueGroups groups;
    const core::Message message;
    constexpr std::size_t values = ValueGroups::most_values + 500;
    for (std::size_t i = 0; i < values; ++i)
        groups.add({std::to_string(i)}, {}, message);
    groups.add({"7"}, {}, message);
    CHECK(groups.all().size() == ValueGroups::most_values);
    CHECK(groups.others().messages == 500);
    std::ostringstream out;
    print_groups("own", groups, {}, out);
    CHECK(out.str().find("--header 'own=7'") != std::string::npos);
    CHECK(out.str().find("and 10400 messages with other values") != std::string::npos);
    std::size_t sum = 0;
    for (const auto& group : json_of_groups("own", groups))
        sum += group.at("messages").get<std::size_t>();
    CHECK(sum == values + 1);
}

}  // namespace retryd::commands::value_groups_test
