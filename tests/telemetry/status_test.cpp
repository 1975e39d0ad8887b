#include "telemetry/status.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "support/catch.h"

// The JSON that the status page and `retryd status` read.

namespace retryd::telemetry::status_test {
namespace {

core::WallTime at(std::int64_t ms) {
    return core::WallTime{core::Milliseconds{ms}};
}

/// One with every field that there may be.
Status with_every_field() {
    Status status;
    status.detours = {{"retryd.detour.2s", core::Milliseconds{2'000}, 1, 2}};
    QueueStatus queue{"email", "standard", false, status.detours, QueueDepth{"email.parked", 1}, QueueTotals{}};
    queue.messages = 1;
    queue.consumers = 1;
    queue.may_hold = true;
    status.queues = {queue};
    status.queues_left_out = 1;
    status.ladders = {{"shared", status.detours}};
    status.parked_by_reason = {{"too-old", 2}};
    status.rates = {core::Milliseconds{5'000}, {1}, {1}, {1}};
    status.outages = {{"email", "email.held", 1, 1, at(1), "holding", true, at(1)}};
    status.faults = {{at(1), "broken", "refused"}};
    status.checks = ChecksStatus{at(1), {{"at-most-once", "warning", at(1), "", "", "", "", {"a"}}}};
    status.failing = {{"email", FailingStatus::State::wholly, 9, {9}, 4, 4, core::Milliseconds{1}, true, 7, 0, 1}};
    status.failing_left_out = 1;
    status.desk = true;
    return status;
}

using Names = std::set<std::string>;

/// The paths of all fields of a document, as docs/reference.md writes them. Rungs are described once, as detours.
void add_fields(const nlohmann::json& value, const std::string& path, Names& names) {
    if (value.is_object()) {
        for (const auto& [name, member] : value.items())
            add_fields(member, path.empty() ? name : path + '.' + name, names);
    } else if (value.is_array() && !value.empty() && value.front().is_object()) {
        const bool rungs = path.ends_with(".rungs");
        if (rungs) names.insert(path + "[]");
        add_fields(value.front(), rungs ? "detours[]" : path + "[]", names);
    } else {
        names.insert(path);
    }
}

Names fields_of(const std::string& json) {
    Names names;
    add_fields(nlohmann::json::parse(json), "", names);
    return names;
}

std::string contents_of(const std::string& path) {
    std::ifstream file(std::string{RETRYD_SOURCE_DIR} + '/' + path);
    REQUIRE(file);
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// The first group of every match.
std::vector<std::string> found_in(const std::string& text, const char* pattern) {
    const std::regex regex{pattern};
    std::vector<std::string> found;
    for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
        found.push_back((*match)[1]);
    return found;
}

/// What is in the first column of the table with that heading.
std::vector<std::string> documented(const std::string& heading) {
    const std::string text = contents_of("docs/reference.md");
    const std::size_t begin = text.find("\n| " + heading + " |");
    REQUIRE(begin != std::string::npos);
    std::istringstream table(text.substr(begin + 1, text.find("\n\n", begin) - begin));
    std::string cells;
    std::getline(table, cells);
    cells.clear();
    for (std::string line; std::getline(table, line);)
        cells += line.substr(0, line.find('|', 1));
    return found_in(cells, "`([^`]+)`");
}

}  // namespace

TEST_CASE("status: docs/reference.md has every field of /status.json and of /history.json once, and no other") {
    DayStatus day;
    day.failing = {{"email", {1}}};
    const auto check = [](const std::string& document, const Names& fields) {
        CAPTURE(document);
        const std::vector<std::string> names = documented("field of `" + document + "`");
        CHECK(Names(names.begin(), names.end()) == fields);
        CHECK(names.size() == fields.size());
    };
    check("/status.json", fields_of(to_json(with_every_field())));
    check("/history.json", fields_of(to_json(day, at(9))));
}

TEST_CASE("status: what this test takes for every field is every one that the code writes") {
    Names written;
    for (const char* file : {"src/telemetry/status.cpp", "src/telemetry/status_json.cpp"}) {
        for (const std::string& name : found_in(contents_of(file), R"re((?:\{|\[)"([a-z_0-9]+)"[,\]])re"))
            written.insert(name);
    }
    written.erase("unknown");  // in what `retryd status --json` writes alone: the daemon has null
    DayStatus day;
    day.failing = {{"email", {1}}};
    const std::string all = to_json(with_every_field()) + to_json(day, at(9));
    CHECK(written.size() > 50);
    for (const std::string& name : written) {
        CAPTURE(name);
        CHECK(all.find('"' + name + "\":") != std::string::npos);
    }
}

TEST_CASE("status: unknown is null, times are milliseconds, and the shape is that which others read") {
    Status status;
    status.version = "0.1.0";
    status.now = at(2'000);
    status.started = at(1'000);
    status.config_file = "/etc/retryd/retryd.yaml";
    status.broker = {"h:1, vhost '/'", "4.3.6", true, at(1'500), false, "", 2, "", "h:1", "/"};
    status.error_exchange = "retryd.errors";
    status.errors = {"retryd.errors", std::nullopt};
    status.catch_all = {"retryd.parked", 4};
    status.detours = {{"retryd.detour.2s", core::Milliseconds{2'000}, std::nullopt}};
    status.oldest_unsettled = core::Milliseconds{61'000};
    status.ready = true;
    QueueStatus email{"email", "standard", false, {{"email.retry.5s", core::Milliseconds{5'000}, 12}}, {}, {}};
    email.parked = QueueDepth{"email.parked", std::nullopt};
    email.totals = QueueTotals{1, 2, 3};
    status.queues = {email};
    status.ladders = {{"shared", {}}};
    status.parked_by_reason = {{"too-old", 2}};
    status.failing = {
        {"email", FailingStatus::State::wholly, 9, {3, 9}, 4, 4, core::Milliseconds{2'000}, true, 7, 0, {}}};
    status.rates = {core::Milliseconds{5'000}, {1, 2}, {0, 0}, {0, 0}};
    status.faults = {{at(1'700), "it\nis \xff broken", "refused"}};
    status.outages = {{"email", "email.held", 1, 12'400, at(1'600), "holding: 12,400 messages", false}};
    status.checks = ChecksStatus{
        at(1'900), {{"at-most-once", "warning", at(1'800), "cause", "consequence", "remedy", "", {"a", "b"}}}};
    CHECK(
        to_json(status) ==
        R"({"version":"0.1.0","now":2000,"started":1000,"ready":true,"reason":"","config_file":"/etc/retryd/retryd.yaml",)"
        R"("broker":{"name":"h:1, vhost '/'","version":"4.3.6","connected":true,"since":1500,"blocked":false,)"
        R"("blocked_reason":"","reconnects":2,"fault":"","address":"h:1","vhost":"/"},)"
        R"("errors":{"exchange":"retryd.errors","queue":"retryd.errors","messages":null},)"
        R"("catch_all":{"queue":"retryd.parked","messages":4},)"
        R"("detours":[{"queue":"retryd.detour.2s","delay":"2s","delay_ms":2000,"messages":null}],)"
        R"("in_flight":0,"oldest_unsettled_ms":61000,"counted":null,)"
        R"("queues":[{"work_queue":"email","ladder":"standard","shared":false,)"
        R"("rungs":[{"queue":"email.retry.5s","delay":"5s","delay_ms":5000,"messages":12}],)"
        R"("parked":{"queue":"email.parked","messages":null},"totals":{"retried":1,"parked":2,"dropped":3}}],)"
        R"("ladders":[{"name":"shared","rungs":[]}],"parked_by_reason":[{"reason":"too-old","messages":2}],)"
        R"("requeued":0,"confirm_ms":{"p50":0.0,"p99":0.0},)"
        R"("rates":{"interval_ms":5000,"retried":[1,2],"parked":[0,0],"dropped":[0,0]},)"
        R"("outages":[{"work_queue":"email","queue":"email.held","state":"holding","by_hand":false,)"
        R"("messages":12400,"since":1600,"text":"holding: 12,400 messages"}],)"
        R"("faults":[{"since":1700,"code":"refused","text":"it\\x0ais \\xff broken"}],)"
        R"("checks":{"checked":1900,"findings":[{"code":"at-most-once","severity":"warning","since":1800,)"
        R"("cause":"cause","consequence":"consequence","remedy":"remedy","command":"","names":["a","b"]}]},)"
        R"("failing":[{"work_queue":"email","state":"wholly","failures":9,"minutes":[3,9],"came_back":4,"failed_again":4,)"
        R"("next_due_ms":2000,"due_at_most":true,"messages":7,"consumers":0,"acked":null}]})");
}

TEST_CASE("status: the day is a document of its own, and small") {
    DayStatus day;
    day.rates = {core::Milliseconds{60'000}, {1, 0}, {0, 2}, {0, 0}};
    day.failures_interval = core::Milliseconds{300'000};
    day.failing = {{"e\xffmail", {4, 5}}};
    CHECK(
        to_json(day, at(9)) ==
        R"({"now":9,"interval_ms":60000,"retried":[1,0],"parked":[0,2],"dropped":[0,0],"failures_interval_ms":300000,)"
        R"("failing":[{"work_queue":"e\\xffmail","failures":[4,5]}]})");
    for (auto* series : {&day.rates.retried, &day.rates.parked, &day.rates.dropped})
        series->assign(1'440, 100);
    day.failing.assign(30, {"email", std::vector<std::uint64_t>(288, 100)});
    CHECK(to_json(day, at(9)).size() < 60'000);
}

TEST_CASE("status: of a work queue's own messages and consumers there is what was asked for") {
    Status status;
    status.queues.emplace_back().work_queue = "email";
    CHECK(to_json(status).find("consumers") == std::string::npos);
    status.queues[0].messages = 3;
    status.queues[0].consumers = 0;
    CHECK(to_json(status).find(R"("totals":null,"messages":3,"consumers":0})") != std::string::npos);
    status.failing_left_out = 2;
    CHECK(to_json(status).find(R"("failing_left_out":2)") != std::string::npos);
}

TEST_CASE("status: who may hold, and since when the desk does, is told where it is so") {
    Status status;
    status.queues.emplace_back().work_queue = "email";
    status.outages = {{"email", "email.held", 1}};
    CHECK(to_json(status).find("may_hold") == std::string::npos);
    CHECK(to_json(status).find("desk_since") == std::string::npos);
    status.queues[0].may_hold = true;
    status.outages[0].desk_since = at(7);
    CHECK(to_json(status).find(R"("may_hold":true)") != std::string::npos);
    CHECK(to_json(status).find(R"("desk_since":7)") != std::string::npos);
    const auto read = read_status(to_json(status));
    REQUIRE(read);
    CHECK(read->outages[0].desk_since == at(7));
}

TEST_CASE("status: queues that are not in it are told by their number, and only then") {
    Status status;
    CHECK(to_json(status).find("queues_left_out") == std::string::npos);
    status.queues_left_out = 3;
    CHECK(to_json(status).find("\"queues_left_out\":3") != std::string::npos);
}

TEST_CASE("status: what was written is read again, as far as the command shows it") {
    Status status;
    status.version = "0.1.0";
    status.reason = "not connected";
    status.in_flight = 37;
    status.oldest_unsettled = core::Milliseconds{61'000};
    status.rates = {core::Milliseconds{20'000}, {900, 30}, {6}, {}};
    status.queues.emplace_back().work_queue = "email";
    status.queues.back().totals = QueueTotals{5, 1, 2};
    status.faults = {{at(1), "broken", "reload"}};
    status.outages = {{"email", "email.held", 2, 7, at(4), "releasing: 7 messages left", true}, {"sms", "sms.held"}};
    status.checks = ChecksStatus{at(2), {{"code", "problem", at(3), "cause", "so", "do", "run", {"a"}}}};
    const auto read = read_status(to_json(status));
    REQUIRE(read.has_value());
    CHECK_FALSE(read->ready);
    CHECK(read->reason == "not connected");
    CHECK(read->in_flight == 37);
    CHECK(read->oldest_unsettled == core::Milliseconds{61'000});
    CHECK(read->rates.interval == core::Milliseconds{20'000});
    CHECK(read->rates.retried == std::vector<std::uint64_t>{900, 30});
    CHECK(read->rates.parked == std::vector<std::uint64_t>{6});
    REQUIRE(read->queues.size() == 1);
    CHECK(read->queues[0].work_queue == "email");
    CHECK(read->queues[0].totals == QueueTotals{5, 1, 2});
    REQUIRE(read->faults.size() == 1);
    CHECK(read->faults[0].text == "broken");
    CHECK(read->faults[0].code == "reload");
    REQUIRE(read->outages.size() == 2);
    CHECK(read->outages[0].queue == "email.held");
    CHECK(read->outages[0].outage == 2);
    CHECK(read->outages[0].messages == 7U);
    CHECK(read->outages[0].since == at(4));
    CHECK(read->outages[0].text == "releasing: 7 messages left");
    CHECK(read->outages[0].by_hand);
    CHECK(read->outages[1].outage == 0);
    CHECK_FALSE(read->outages[1].messages);
    REQUIRE(read->checks);
    REQUIRE(read->checks->findings.size() == 1);
    CHECK(read->checks->findings[0].since == at(3));
    CHECK(read->checks->findings[0].names == std::vector<std::string>{"a"});
}

TEST_CASE("status: an odd answer is none, or one without what is odd") {
    for (const char* odd : {"", "404", "[]", "<html>", "{\"status\": \"ok\"}"}) {
        CAPTURE(odd);
        CHECK_FALSE(read_status(odd).has_value());
    }
    const auto read =
        read_status(R"({"version": 7, "ready": 1, "in_flight": "x", "queues": [3, {}], "faults": "x", "rates": 7})");
    REQUIRE(read.has_value());
    CHECK_FALSE(read->ready);
    CHECK(read->in_flight == 0);
    CHECK(read->rates.retried.empty());
    CHECK(read->queues.size() == 2);
}

}  // namespace retryd::telemetry::status_test
