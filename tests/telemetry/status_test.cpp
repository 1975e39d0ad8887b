#include "telemetry/status.h"

#include "support/catch.h"

// The JSON that the status page and `retryd status` read.

namespace retryd::telemetry::status_json_test {
namespace {

core::WallTime at(std::int64_t ms) {
    return core::WallTime{core::Milliseconds{ms}};
}

}  // namespace

TEST_CASE("status: unknown is null, times are milliseconds, and the shape is that which others read") {
    Status status;
    status.version = "0.1.0";
    status.now = at(2'000);
    status.started = at(1'000);
    status.config_file = "/etc/retryd/retryd.yaml";
    status.broker = {"h:1, vhost '/'", "4.3.6", true, at(1'500), false, "", 2, ""};
    status.error_exchange = "retryd.errors";
    status.error_queue = "retryd.errors";
    status.catch_all = {"retryd.parked", 4};
    status.ready = true;
    QueueStatus email{"email", "standard", false, {{"email.retry.5s", core::Milliseconds{5'000}, 12}}, {}, 1, 2, 3};
    email.parked = {"email.parked", std::nullopt};
    status.queues = {email};
    status.ladders = {{"shared", {}}};
    status.parked_by_reason = {{"too-old", 2}};
    status.rates = {core::Milliseconds{5'000}, {1, 2}, {0, 0}, {0, 0}};
    status.faults = {{at(1'700), "it\nis \xff broken"}};
    CHECK(
        to_json(status) ==
        R"({"version":"0.1.0","now":2000,"started":1000,"ready":true,"reason":"","config_file":"/etc/retryd/retryd.yaml",)"
        R"("broker":{"name":"h:1, vhost '/'","version":"4.3.6","connected":true,"since":1500,"blocked":false,)"
        R"("blocked_reason":"","reconnects":2,"fault":""},)"
        R"("errors":{"exchange":"retryd.errors","queue":"retryd.errors","messages":null},)"
        R"("catch_all":{"queue":"retryd.parked","messages":4},"in_flight":0,"counted":null,)"
        R"("queues":[{"work_queue":"email","ladder":"standard","shared":false,)"
        R"("rungs":[{"queue":"email.retry.5s","delay":"5s","delay_ms":5000,"messages":12}],)"
        R"("parked":{"queue":"email.parked","messages":null},"totals":{"retried":1,"parked":2,"dropped":3}}],)"
        R"("ladders":[{"name":"shared","rungs":[]}],"parked_by_reason":[{"reason":"too-old","messages":2}],)"
        R"("requeued":0,"confirm_ms":{"p50":0.0,"p99":0.0},)"
        R"("rates":{"interval_ms":5000,"retried":[1,2],"parked":[0,0],"dropped":[0,0]},)"
        R"("faults":[{"since":1700,"text":"it\nis )"
        "\xef\xbf\xbd"
        R"( broken"}]})");
}

TEST_CASE("status: queues that are not in it are told by their number, and only then") {
    Status status;
    CHECK(to_json(status).find("queues_left_out") == std::string::npos);
    status.queues_left_out = 3;
    CHECK(to_json(status).find("\"queues_left_out\":3") != std::string::npos);
}

}  // namespace retryd::telemetry::status_json_test
