// That the alerts, the dashboard and docs/operations.md hold together. Most of it is looked at by `holds`, beside this.
#include <fstream>
#include <iterator>
#include <string>

#include "admin/finding.h"
#include "core/decide.h"
#include "support/catch.h"
#include "support/findings.h"

namespace retryd::operations_test {
namespace {

std::string found(const std::string& check) {
    static const auto findings = findings_of(RETRYD_HOLDS, RETRYD_PROJECT);
    return findings.at(check);
}

std::string operations_book() {
    std::ifstream file{RETRYD_PROJECT "/docs/operations.md"};
    REQUIRE(file);
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// The reasons of the enumeration, and of deaths those that docs/reference.md names.
std::string section_of(core::ParkReason reason) {
    std::string buffer;
    const std::string text{core::reason_text(reason, "expired", buffer)};
    const bool of_a_death = reason == core::ParkReason::death_reason;
    return of_a_death ? "\n### `reason-expired`, `reason-maxlen`, `reason-…`\n" : "\n### `" + text + "`\n";
}

}  // namespace

TEST_CASE("operations: the alert rules are sound; each fires when it should and is silent when it should be") {
    CHECK(found("rules") == "");
}

TEST_CASE("operations: alerts and dashboard name metrics and labels that retryd has") {
    CHECK(found("names") == "");
}

TEST_CASE("operations: every alert has its runbook in docs/operations.md") {
    CHECK(found("runbooks") == "");
}

TEST_CASE("documents: every link in them leads somewhere") {
    CHECK(found("links") == "");
}

TEST_CASE("operations: the dashboard is valid, complete and asks the datasource that its reader chooses") {
    CHECK(found("dashboard") == "");
}

TEST_CASE("operations: every panel of the dashboard shows something") {
    CHECK(found("panels") == "");
}

TEST_CASE("operations: each kind of finding has a command, or docs/operations.md says why there is none") {
    const std::string book = operations_book();
    const auto begin = book.find("\n### Findings that no command fixes\n");
    REQUIRE(begin != std::string::npos);
    const std::string section = book.substr(begin, book.find("\n## ", begin) - begin);
    for (const admin::FindingKind& kind : admin::finding_kinds()) {
        CAPTURE(kind.name);
        // Each finding of that kind has a command of its own, with the user's permissions.
        const bool has_command = !kind.command.empty() || kind.code == admin::FindingCode::missing_permission;
        const bool explained = section.find("`" + std::string{kind.name} + "`") != std::string::npos;
        CHECK(explained != has_command);
    }
}

TEST_CASE("operations: every reason why a message is parked has its section in docs/operations.md") {
    const std::string book = operations_book();
    for (int number = 0; number <= static_cast<int>(core::ParkReason::unpublishable); ++number) {
        const std::string section = section_of(static_cast<core::ParkReason>(number));
        CAPTURE(section);
        CHECK(book.find(section) != std::string::npos);
    }
}

}  // namespace retryd::operations_test
