// `retryd apply --prune`: a rung is deleted only when nothing can be published to it any more and it is empty.
#include <set>
#include <thread>

#include "support/catch.h"
#include "support/command_line.h"
#include "support/proof.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// Two ladders that are about to change; one message waits an hour on a rung of the old one.
struct LadderChange : Scenario {
    LadderChange() : work(work_queue("work")), sharing(work_queue("sharing")) {
        config.management_url = management_url();
        retry(work, {"100ms", "1h"});
        shared_ladder = share({sharing}, {"110ms"});
        start();
        Worker worker(work);
        const Table second_attempt = proven({{"retryd-queue", longstr(work)}, {"retryd-attempt", int64(1)}}, config);
        client.publish("", work, {.body = "waits an hour", .headers = second_attempt});
        worker.reject(worker.receive());
        REQUIRE(await_depth(hour_rung(), 1));
        for (const std::string& name : {idle_rung(), hour_rung(), idle_shared_rung()})
            REQUIRE(await([&] { return exists(name); }));
        config.ladders.front().delays = {"150ms"};
        config.ladders.back().delays = {"160ms"};
        command_line.write(config.yaml());
    }

    CommandResult run(const std::string& command) { return run_retryd(command + " -c " + command_line.config_file()); }

    std::string idle_rung() { return rung(work, "100ms"); }
    std::string hour_rung() { return rung(work, "1h"); }
    std::string idle_shared_rung() { return shared_rung(shared_ladder, "110ms"); }

    std::string work;
    std::string sharing;
    std::string shared_ladder;
    Daemon command_line;  // only its file: the new configuration
};

/// Publishes messages that fail once each, until it is destroyed.
class SteadyLoad {
  public:
    explicit SteadyLoad(const std::string& queue)
        : thread_([this, queue](const std::stop_token& over) {
              Client producer(broker_address());
              Worker worker(queue, 500);
              while (!over.stop_requested() || (returned_.size() < sent_ && since(last_arrival_) < patience)) {
                  if (!over.stop_requested()) producer.publish("", queue, {.body = std::to_string(sent_++)});
                  while (const auto message = worker.client.next(milliseconds(20)))
                      settle(worker, *message);
              }
          }) {}

    /// Stops. Returns whether every message came back.
    bool all_came_back() {
        thread_.request_stop();
        thread_.join();
        return sent_ > 0 && returned_.size() == sent_;
    }

  private:
    void settle(Worker& worker, const Received& message) {
        last_arrival_ = Clock::now();
        if (find(message.headers, "retryd-attempt") == nullptr) return worker.reject(message);
        returned_.insert(message.body);
        worker.ack(message);
    }

    std::size_t sent_ = 0;
    std::set<std::string> returned_;
    Clock::time_point last_arrival_ = Clock::now();
    std::jthread thread_;  // last: it uses the others
};

}  // namespace

TEST_CASE("prune: refused beside a daemon with the old ladder; beside one with the new it deletes what is empty only",
          "[slow][one-version][night][every-version]") {
    LadderChange s;
    // The statistics of the management API are updated every five seconds.
    const auto all_counted = [&] {
        const CommandResult plan = s.run("plan");
        return plan.says({s.idle_rung(), "0 messages"}) && plan.says({s.idle_shared_rung(), "0 messages"}) &&
               plan.says({s.hour_rung(), "1 message"});
    };
    REQUIRE(await(all_counted, patience, milliseconds(1'000)));
    const CommandResult refused = s.run("apply --prune");
    CHECK(refused.code == 1);
    CHECK(refused.says({"retryd-"}));  // the daemon's consumer tag
    for (const std::string& name : {s.idle_rung(), s.hour_rung(), s.idle_shared_rung()})
        CHECK(s.exists(name));

    s.reload_and_say_so();
    SteadyLoad on_work(s.work);
    SteadyLoad on_sharing(s.sharing);
    CommandResult pruned;
    CHECK(await(
        [&] {
            pruned = s.run("apply --prune");
            return !pruned.says({"nothing is pruned"});
        },
        patience, milliseconds(500)));
    CHECK(on_work.all_came_back());
    CHECK(on_sharing.all_came_back());
    CHECK(pruned.code == 0);
    CHECK(pruned.says({s.hour_rung(), "kept: 1 message"}));
    CHECK_FALSE(s.exists(s.idle_rung()));
    CHECK_FALSE(s.exists(s.idle_shared_rung()));
    CHECK_NOTHROW(s.client.declare_exchange(s.idle_shared_rung(), "topic"));  // the fanout has gone, too
    CHECK(s.depth(s.hour_rung()) == 1);
    CHECK(s.daemon.lines_with({"connected to"}) == (s.has_quorum_ttl() ? 1 : 2));
    s.stop();
}
