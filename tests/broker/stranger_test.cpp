// What a stranger can do with what he may do: publish to a queue of his own, put messages into a source, read a work
// queue that he may not write to (docs/security.md). Nobody else pays for it.
#include <set>
#include <string>

#include "support/catch.h"
#include "support/command_line.h"
#include "support/forged.h"
#include "support/management.h"
#include "support/other_protocols.h"
#include "support/scenario.h"
#include "support/served.h"
#include "support/unsafe_text.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

int times_in(const std::string& text, const std::string& part) {
    int times = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
        ++times;
    return times;
}

}  // namespace

TEST_CASE("a stranger makes up names of work queues: no outage is looked for in queues that are not there",
          "[one-version]") {
    constexpr int made_up = 300;
    Scenario s;
    const std::string real = s.work_queue("hook.real");
    const std::string source = s.plain_queue("source");
    s.retry(s.queue_name("hook.*"), {"100ms"});
    s.entry().outage = "{of: 20, within: 5s, probe: 1s}";
    s.config.sources = "[{queue: \"" + source + "\", dialect: generic, work_queue: {header: x-origin}}]";
    s.config.management_url = management_url();
    s.config.http = "127.0.0.1:0";
    s.start();
    for (int i = 0; i < made_up; ++i) {
        const std::string name = s.queue_name("hook.made-up." + std::to_string(i));
        s.client.send("", source, {.headers = {{"x-origin", longstr(name)}}});
    }
    s.client.await_confirms();
    REQUIRE(s.await_depth(s.config.catch_all, made_up));
    Worker worker(real);
    // The first one may have waited on a detour until it was known that its queue is there.
    for (int i = 0; i < 2; ++i) {
        s.client.publish("", real, {.body = "x"});
        worker.reject(worker.receive());
        worker.ack(worker.receive());
    }
    const Served page(s.daemon);
    CHECK(page.await_metric("retryd_outage{queue=\"" + real + "\"}", 0));
    CHECK(times_in(page.get("/metrics").body, "retryd_outage{") == 1);
    s.stop();
}

TEST_CASE("a stranger makes up rungs of work queues that are not there: none is declared", "[one-version]") {
    constexpr int made_up = 300;
    Scenario s;
    s.retry(s.queue_name("hook.*"), {"100ms"});
    s.entry().x_death = "keep";
    s.start();
    const auto name = [&](int number) { return s.queue_name("hook.made-up." + std::to_string(number)); };
    const auto rung = [&](int number) { return Scenario::rung(name(number), "100ms") + ".x-death"; };
    for (int i = 0; i < made_up; ++i) {
        const Value deaths = array({death_entry(rung(i), "expired")});
        s.client.send(s.config.error_exchange, "",
                      {.headers = {{"x-death", deaths}, {"retryd-queue", longstr(name(i))}}});
    }
    s.client.await_confirms();
    REQUIRE(s.await_depth(s.config.catch_all, made_up));
    for (int i = 0; i < made_up; ++i)
        CHECK_FALSE(s.exists(rung(i)));
    CHECK(s.daemon.lines_with({"warning", "made-up"}) == 0);
    s.stop();
}

TEST_CASE("headers of a work queue that one may only read lead parked messages of one's own nowhere but home",
          "[one-version]") {
    Scenario s;
    s.config.key_file.clear();
    const std::string victim = s.work_queue("victim");
    s.retry(victim, {"50ms", "60ms"});
    const std::string own = s.work_queue("own", {{"x-message-ttl", int32(1)}});
    s.retry(own, {"50ms"});
    // Another one of his, from which messages go on to the first one.
    const std::string before = s.plain_queue("before", {{"x-message-ttl", int32(1)},
                                                        {"x-dead-letter-exchange", longstr("")},
                                                        {"x-dead-letter-routing-key", longstr(own)}});
    s.start();
    Worker theirs(victim);
    s.client.publish("", victim, {.body = "genuine"});
    theirs.reject(theirs.receive());
    const Received genuine = theirs.receive();
    theirs.ack(genuine);
    Table copied = without(genuine.headers, {"x-*"});
    // With what retryd adds they fit no frame, so that the broker itself moves them to the catch-all.
    copied.push_back({"large", longstr(std::string(130'660, 'v'))});
    for (const std::string& queue : {own, before})
        s.client.publish("", queue, {.body = "forged", .headers = copied});
    REQUIRE(s.await_depth(s.config.catch_all, 2));
    const std::string config = " -c " + s.daemon.config_file();
    const CommandResult listed = run_retryd("parked list --from " + s.config.catch_all + config);
    CHECK_FALSE(listed.says({"victim"}));
    run_retryd("parked replay --from " + s.config.catch_all + " --all --stop-after never" + config);
    CHECK(s.depth(victim) == 0);
    CHECK(theirs.stays_idle(milliseconds(200)));
    s.stop();
}

TEST_CASE("what a message says of its retry may be anything: a verdict is heeded or not, and no exit shows it as it is",
          "[one-version]") {
    Scenario s;
    const std::string heard = s.work_queue("heard");
    s.retry(heard, {"50ms", "80ms"});
    s.entry().verdict = true;
    s.config.http = "127.0.0.1:0";
    s.start();
    const std::string hostile =
        "\x1b[2J\x9b"
        "31m\xe2\x80\xae no\xff\x00 such\r\n thing" +
        std::string(3, '\0');
    const std::vector<Value> anything{longstr(hostile),      longstr(std::string(100'000, 'x')),
                                      longstr(""),           int64(-1),
                                      int64(INT64_MAX),      int64(INT64_MIN),
                                      nested_tables(90),     nested_arrays(20),
                                      timestamp(UINT64_MAX), longstr("99999999999999999999999999d"),
                                      longstr("-5s"),        longstr("1e9")};
    Worker worker(heard);
    int sent = 0;
    for (const Value& value : anything) {
        for (const char* header : {"x-opt-retry", "x-opt-retry-after", "x-opt-retry-reason"})
            s.client.send("", heard, {.body = std::to_string(sent++), .headers = {{header, value}}});
    }
    s.client.await_confirms();
    std::set<std::string> home;
    while (home.size() < static_cast<std::size_t>(sent)) {
        const Received message = worker.receive();
        if (long_header(message, "retryd-attempt") < 1) {
            worker.reject(message);
            continue;
        }
        CHECK(find(message.headers, "x-opt-retry-after") == nullptr);
        CHECK(find(message.headers, "x-opt-retry-reason") == nullptr);
        home.insert(message.body);
        worker.ack(message);
    }
    for (const Value& value : anything) {
        s.client.publish("", heard, {.headers = {{"x-opt-retry", longstr("never")}, {"x-opt-retry-reason", value}}});
        worker.reject(worker.receive());
    }
    REQUIRE(s.await_depth(s.parking_of(heard), static_cast<std::uint32_t>(anything.size())));
    const std::string of = " --queue " + heard + " -c " + s.daemon.config_file();
    for (const std::string command : {"list", "list --by reason", "list --by x-opt-retry-reason", "list --messages",
                                      "show", "list --json", "list --messages --json", "show --json"}) {
        const CommandResult result = run_retryd("parked " + command + of);
        CAPTURE(command, result.err);
        CHECK(result.code == 0);
        CHECK(unsafe_part(result.out) == std::nullopt);
    }
    for (const char* page : {"/metrics", "/status.json"})
        CHECK(unsafe_part(Served(s.daemon).get(page).body) == std::nullopt);
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}

TEST_CASE("a source with more messages that can be published nowhere than retryd holds says that it stands still",
          "[one-version]") {
    constexpr int stay = 251;
    Scenario s;
    const std::string work = s.work_queue("work");
    const std::string source = s.plain_queue("source");
    s.retry(work, {"100ms"});
    s.config.prefetch = 1;
    s.config.sources = "[{queue: \"" + source + "\", dialect: generic, work_queue: {header: x-origin}}]";
    s.start();
    // Just less than a frame: with what retryd adds it is more.
    const Message unpublishable{
        .body = "stays", .headers = {{"x-origin", longstr(work)}, {"large", longstr(std::string(130'900, 'x'))}}};
    for (int i = 0; i < stay; ++i)
        s.client.send("", source, unpublishable);
    s.client.send("", source, {.body = "waits", .headers = {{"x-origin", longstr(work)}}});
    s.client.await_confirms();
    REQUIRE(s.daemon.await_log("stands still"));
    CHECK(s.daemon.lines_with({"warning", source, "stands still: 250 messages"}) == 1);
    CHECK(s.daemon.lines_with({source}) < 5);
    // What it says helps.
    s.stop();
    REQUIRE(s.await_depth(source, stay + 1));  // the broker puts back what retryd has held
    for (int i = 0; i < stay; ++i)
        REQUIRE(s.take(source).body == "stays");
    s.start();
    Worker worker(work);
    CHECK(worker.receive().body == "waits");
    s.stop();
}
