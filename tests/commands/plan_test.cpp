#include <nlohmann/json.hpp>

#include "command_line.h"

namespace retryd::commands::plan_test {
namespace {

// Nobody listens on port 1.
constexpr const char* unreachable = R"(
broker: {uris: ["amqp://retryd:geheim@127.0.0.1:1/", "amqp://retryd:geheim@[::1]:1/"]}
ladders: {standard: {delays: [5s]}}
queues: [{match: email, ladder: standard}]
)";

}  // namespace

TEST_CASE("plan and apply: a wrong configuration ends with 78 and all its problems") {
    const TemporaryFile file{"queues: []\nfoo: 1\n"};
    for (const char* command : {"plan", "apply"}) {
        CAPTURE(command);
        const Outcome outcome = run({command, "-c", file.path().c_str()});
        CHECK(outcome.code == 78);
        CHECK(outcome.out.empty());
        CHECK(outcome.err.find("foo") != std::string::npos);
        const Outcome json = run({command, "--json", "-c", file.path().c_str()});
        CHECK(json.code == 78);
        CHECK(nlohmann::json::parse(json.out).at("ok") == false);
    }
}

TEST_CASE("plan and apply: brokers that cannot be reached end with 1, each named, without a password") {
    const TemporaryFile file{unreachable};
    for (const char* command : {"plan", "apply"}) {
        CAPTURE(command);
        const Outcome outcome = run({command, "-c", file.path().c_str()});
        CHECK(outcome.code == 1);
        CHECK(outcome.out.empty());
        CHECK(outcome.err.starts_with("retryd: cannot connect to the broker at 127.0.0.1:1: "));
        CHECK(outcome.err.find("; cannot connect to the broker at [::1]:1: ") != std::string::npos);
        CHECK(outcome.err.ends_with("check that the broker runs and that broker.uri names it\n"));
        CHECK(outcome.err.find("geheim") == std::string::npos);
    }
    const Outcome json = run({"plan", "--json", "-c", file.path().c_str()});
    CHECK(json.code == 1);
    CHECK(nlohmann::json::parse(json.out).at("ok") == false);
    CHECK(json.out.find("cannot connect") != std::string::npos);
}

TEST_CASE("apply: prunes only with the management API, and does nothing without") {
    const TemporaryFile file{unreachable};
    const Outcome outcome = run({"apply", "--prune", "-c", file.path().c_str()});
    CHECK(outcome.code == 78);
    CHECK(outcome.err.starts_with("retryd: --prune needs the management API: "));
    CHECK(run({"plan", "--prune"}).code == 64);
}

}  // namespace retryd::commands::plan_test
