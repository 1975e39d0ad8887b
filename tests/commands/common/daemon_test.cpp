#include "commands/common/daemon.h"

#include <string>
#include <variant>

#include "support/catch.h"

namespace retryd::commands::daemon_test {

TEST_CASE("status: what answers and is no retryd is told") {
    for (const char* odd : {"", "404", "[]", "<html>", "{\"status\": \"ok\"}"}) {
        CAPTURE(odd);
        const DaemonAnswer answer = read_daemon_answer(odd);
        REQUIRE(std::holds_alternative<std::string>(answer));
        CHECK(std::get<std::string>(answer).find("http.listen") != std::string::npos);
    }
    CHECK(std::holds_alternative<telemetry::Status>(read_daemon_answer(R"({"version": "0.1.0", "queues": []})")));
}

}  // namespace retryd::commands::daemon_test
