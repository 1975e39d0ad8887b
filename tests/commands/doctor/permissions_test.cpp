#include <nlohmann/json.hpp>

#include "commands/command_line.h"

namespace retryd::commands::needed_permissions_test {
namespace {

const std::string settings = R"(broker: {uri: "amqp://ret'ryd:secret@rabbit/shop"}
ladders: {standard: {delays: [5s]}}
queues: [{match: email, ladder: standard}]
)";

}  // namespace

TEST_CASE("doctor --permissions prints commands that a shell takes, and no password") {
    const TemporaryFile file(settings);
    const Outcome outcome = run({"doctor", "--permissions", "-c", file.path().c_str()});
    CHECK(outcome.code == 0);
    CHECK(outcome.out.find(
              R"(rabbitmqctl set_permissions --vhost 'shop' 'ret'\''ryd' '^(email\.parked|email\.retry\.)") !=
          std::string::npos);
    CHECK(outcome.out.find("'PERSON' '^(retryd\\.replay\\..*)$'") != std::string::npos);
    CHECK(outcome.out.find("secret") == std::string::npos);
}

TEST_CASE("doctor --permissions --json has the three patterns of each") {
    const TemporaryFile file(settings);
    const auto told = nlohmann::json::parse(run({"doctor", "--permissions", "--json", "-c", file.path().c_str()}).out);
    CHECK(told["ok"] == true);
    CHECK(told["user"] == "ret'ryd");
    CHECK(told["daemon"]["write"] == R"(^(amq\.default|retryd\.errors)$)");
    CHECK(told["daemon"]["read"] == R"(^(email\.retry\.[0-9dhms]+(\.high)?|retryd\.errors)$)");
    CHECK(told["parked"]["configure"] == R"(^(retryd\.replay\..*)$)");
}

TEST_CASE("doctor --permissions of a wrong configuration tells what is wrong with it") {
    const TemporaryFile file("ladders: 3\n");
    CHECK(run({"doctor", "--permissions", "-c", file.path().c_str()}).code == 78);
}

}  // namespace retryd::commands::needed_permissions_test
