#include "admin/finding.h"

#include <set>

#include "support/catch.h"

namespace retryd::admin::finding_test {

TEST_CASE("finding: every kind has a name of its own, a consequence and a remedy") {
    std::set<std::string_view> names;
    for (const FindingKind& kind : finding_kinds()) {
        CAPTURE(kind.name);
        CHECK(names.insert(kind.name).second);
        CHECK(kind.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos);
        CHECK_FALSE(kind.consequence.empty());
        CHECK_FALSE(kind.remedy.empty());
        CHECK(&kind_of(kind.code) == &kind);
    }
    CHECK(names.size() == static_cast<std::size_t>(FindingCode::cannot_tell) + 1);
}

TEST_CASE("finding: what it does not say itself it has from its kind, the command with the remedy") {
    const Finding plain(FindingCode::not_declared, "gone");
    CHECK(plain.consequence == kind_of(FindingCode::not_declared).consequence);
    CHECK(plain.command == "retryd apply");
    const Finding own(FindingCode::not_declared, "gone", {.consequence = "so", .remedy = "do"});
    CHECK(own.consequence == "so");
    CHECK(own.remedy == "do");
    CHECK(own.command.empty());
}

TEST_CASE("finding: those of one kind and group become one, the problems first") {
    const std::vector<Finding> all =
        grouped({{FindingCode::at_most_once, "a", {.name = "a"}},
                 {FindingCode::no_dead_letter_exchange, "b", {.name = "b", .group = "x"}},
                 {FindingCode::no_dead_letter_exchange, "c", {.name = "c", .group = "y"}},
                 {FindingCode::at_most_once, "d", {.name = "d"}},
                 {FindingCode::no_dead_letter_exchange, "e", {.name = "e", .group = "x"}}});
    REQUIRE(all.size() == 3);
    CHECK(all[0].names == std::vector<std::string>{"b", "e"});
    CHECK(all[1].cause == "c");
    CHECK(all[2].names == std::vector<std::string>{"a", "d"});
    CHECK(all[0].key() != all[1].key());
}

TEST_CASE("finding: many names are folded") {
    CHECK(folded({"a", "b"}, 2) == "a, b");
    CHECK(folded({"a", "b", "c", "d"}, 2) == "a, b and 2 more");
}

}  // namespace retryd::admin::finding_test
