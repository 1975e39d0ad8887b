// That the alerts, the dashboard and docs/operations.md hold together. Most of it is looked at by `holds`, beside this.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "core/decide.h"
#include "support/catch.h"

namespace retryd {
namespace {

/// What `holds` finds; a line when it cannot be run.
std::string findings(const std::string& check) {
    const std::string command = std::string{RETRYD_HOLDS} + " " + check + " " RETRYD_PROJECT " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string text;
    std::array<char, 4096> part{};
    while (const std::size_t size = fread(part.data(), 1, part.size(), pipe))
        text.append(part.data(), size);
    const int status = pclose(pipe);
    const bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return good || !text.empty() ? text : "'" + command + "' failed and said nothing";
}

std::string operations_book() {
    std::ifstream file{RETRYD_PROJECT "/docs/operations.md"};
    REQUIRE(file);
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// The reasons of the enumeration, and of deaths those that README.md names.
std::string section_of(core::ParkReason reason) {
    std::string buffer;
    const std::string text{core::reason_text(reason, "expired", buffer)};
    const bool of_a_death = reason == core::ParkReason::death_reason;
    return of_a_death ? "\n### `reason-expired`, `reason-maxlen`, `reason-…`\n" : "\n### `" + text + "`\n";
}

}  // namespace

TEST_CASE("operations: the alert rules are sound; each fires when it should and is silent when it should be") {
    CHECK(findings("rules") == "");
}

TEST_CASE("operations: alerts and dashboard name metrics and labels that retryd has") {
    CHECK(findings("names") == "");
}

TEST_CASE("operations: every alert has its runbook in docs/operations.md") {
    CHECK(findings("runbooks") == "");
}

TEST_CASE("operations: every link in docs/operations.md leads somewhere") {
    CHECK(findings("links") == "");
}

TEST_CASE("operations: the dashboard is valid, complete and asks the datasource that its reader chooses") {
    CHECK(findings("dashboard") == "");
}

TEST_CASE("operations: every panel of the dashboard shows something") {
    CHECK(findings("panels") == "");
}

TEST_CASE("operations: every reason why a message is parked has its section in docs/operations.md") {
    const std::string book = operations_book();
    for (int number = 0; number <= static_cast<int>(core::ParkReason::unpublishable); ++number) {
        const std::string section = section_of(static_cast<core::ParkReason>(number));
        CAPTURE(section);
        CHECK(book.find(section) != std::string::npos);
    }
}

}  // namespace retryd
