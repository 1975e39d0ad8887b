// What a changed configuration means for a running daemon.
#include "daemon/configuration.h"

#include <functional>

#include "support/catch.h"

namespace retryd::daemon::configuration_test {
namespace {

using Change = std::function<void(config::Settings&)>;
using Keys = std::vector<std::string_view>;

Keys keys_of(const Change& change) {
    const config::Settings from;
    config::Settings to;
    change(to);
    return need_new_connection(from, to);
}

}  // namespace

TEST_CASE("what decides about messages changes under way") {
    CHECK(keys_of([](auto&) {}).empty());
    CHECK(keys_of([](auto& s) { s.policy.entries.push_back({"email"}); }).empty());
    CHECK(keys_of([](auto& s) {
              s.policy.entries.push_back({"email", {}, {}, {}, {}, true, core::OutageRule{}});
          }).empty());
    CHECK(keys_of([](auto& s) { s.policy.error_bindings.push_back({"legacy"}); }).empty());
    CHECK(keys_of([](auto& s) { s.policy.entries.push_back({.failures = core::FailuresBy::source}); }).empty());
    CHECK(keys_of([](auto& s) { s.prefetch.messages = 1; }).empty());
    CHECK(keys_of([](auto& s) { s.prefetch.body_bytes = 1; }).empty());
    CHECK(keys_of([](auto& s) { s.log.level = config::LogLevel::debug; }).empty());
    CHECK(keys_of([](auto& s) { s.shutdown_timeout = core::Milliseconds{1}; }).empty());
}

TEST_CASE("what a connection is made of takes a new one, and is named as in the file") {
    CHECK(keys_of([](auto& s) { s.broker.endpoints[0].port = 1; }) == Keys{"broker"});
    CHECK(keys_of([](auto& s) { s.broker.endpoints[0].password = "other"; }) == Keys{"broker"});
    CHECK(keys_of([](auto& s) { s.broker.heartbeat = std::chrono::seconds{1}; }) == Keys{"broker"});
    CHECK(keys_of([](auto& s) { s.broker.tls.verify_peer = false; }) == Keys{"broker"});
    CHECK(keys_of([](auto& s) { s.broker.reconnect.max = core::Milliseconds{1}; }) == Keys{"broker"});
    CHECK(keys_of([](auto& s) { s.policy.error_exchange = "x"; }) == Keys{"errors.exchange"});
    CHECK(keys_of([](auto& s) { s.policy.error_queue = "x"; }) == Keys{"errors.queue"});
    CHECK(keys_of([](auto& s) { s.policy.error_queue_type = core::QueueType::classic; }) == Keys{"errors.queue_type"});
    CHECK(keys_of([](auto& s) { s.proof_secrets = {"x"}; }) == Keys{"errors.key_file"});
    CHECK(keys_of([](auto& s) { s.policy.catch_all = "x"; }) == Keys{"parking.catch_all"});
    CHECK(keys_of([](auto& s) { s.policy.sources = {{"q"}}; }) == Keys{"sources"});
    CHECK(keys_of([](auto& s) {
              s.policy.sources = {{"q"}};
              s.prefetch.messages = 1;
          }) == Keys{"sources", "errors.prefetch"});
    CHECK(keys_of([](auto& s) { s.declare = false; }) == Keys{"declare"});
    CHECK(keys_of([](auto& s) {
              s.policy.catch_all = "x";
              s.broker.endpoints[0].vhost = "v";
          }) == Keys{"broker", "parking.catch_all"});
}

TEST_CASE("a former error queue and a former binding are left to the operator, who is told") {
    core::Policy from;
    from.error_bindings = {{"kept"}, {"gone"}};
    core::Policy to;
    to.error_bindings = {{"kept"}};
    to.error_queue = "new";
    const auto notes = left_behind(from, to);
    REQUIRE(notes.size() == 2);
    CHECK(notes[0].find("'retryd.errors': unbind it from exchange 'retryd.errors' now") != std::string::npos);
    CHECK(notes[1].find("exchange 'gone'") != std::string::npos);
    CHECK(left_behind(from, from).empty());
}

}  // namespace retryd::daemon::configuration_test
