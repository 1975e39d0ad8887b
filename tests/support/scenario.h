// What one test uses on the broker: names of its own, a configuration, the daemon. What it has declared is deleted with
// the vhost that the test runs in (tests/support/with-broker), and not earlier: when a queue with at-least-once
// dead-lettering is deleted moments after its declaration, the broker may stop dead-lettering altogether (seen on 3.10
// and 4.0.5: the queue's worker is restarted until its supervisor gives up).
#pragma once

#include <string>
#include <vector>

#include "support/client.h"
#include "support/config_file.h"
#include "support/daemon.h"
#include "support/environment.h"

namespace retryd::test {

class Scenario {
  public:
    /// Connects; every name of the configuration is this scenario's own. No ladder, no entry yet.
    Scenario();
    ~Scenario();
    Scenario(const Scenario&) = delete;
    Scenario& operator=(const Scenario&) = delete;

    /// `name` with this scenario's prefix.
    std::string queue_name(const std::string& name) const { return prefix_ + name; }
    std::string exchange_name(const std::string& name) const { return prefix_ + name; }
    /// A queue like a team's own: durable, dead-lettering to the error exchange by argument.
    std::string work_queue(const std::string& name, const Table& more_arguments = {});
    std::string quorum_work_queue(const std::string& name, const Table& more_arguments = {});
    std::string plain_queue(const std::string& name, const Table& arguments = {});

    /// Adds a ladder, and an entry with it for one queue or glob.
    void retry(const std::string& match, const std::vector<std::string>& delays,
               const std::string& queue_type = "quorum");
    /// Adds a ladder with `return: headers`, and an entry with it for each of these queues and globs. Returns its name.
    std::string share(const std::vector<std::string>& matches, const std::vector<std::string>& delays,
                      const std::string& queue_type = "quorum");
    /// The last entry and its ladder, for what retry() and share() do not set.
    EntrySpec& entry() { return config.entries.back(); }
    LadderSpec& ladder() { return config.ladders.back(); }

    /// Starts the daemon and waits until it consumes the error queue, and has said so.
    void start();
    /// Waits until all is there that the daemon declares in advance, which goes on while it consumes already: the
    /// catch-all, the detours, and the rungs and parking queues of entries with an exact name. A message whose rung is
    /// not declared in 300 ms takes a detour.
    void await_declared();
    /// Deletes a queue that was there at the end of the last start() or await_declared(), once it is some seconds old:
    /// see above.
    void delete_declared(const std::string& queue);
    /// Whether the daemon consumes the error queue at this moment.
    bool consuming();
    /// Sends SIGTERM; the daemon must end with exit code 0. At the end of a test this finds what sanitizers report at
    /// exit.
    void stop();
    /// Gives the running daemon the configuration as it is now, by SIGHUP.
    void reload() { daemon.reload(config.yaml()); }
    /// As reload(), and its consumer's tag says so, which `apply --prune` waits for. Before 3.10 a consumer keeps its
    /// tag until the daemon is started again.
    void reload_and_say_so();

    /// From 3.10 on quorum queues have a TTL and at-least-once dead-lettering; before, all rungs are classic.
    bool has_quorum_ttl() const { return version_of(client) >= Version{3, 10}; }

    static std::string rung(const std::string& work_queue, const std::string& delay) {
        return work_queue + ".retry." + delay;
    }
    static std::string shared_rung(const std::string& ladder, const std::string& delay) {
        return "retryd." + ladder + "." + delay;
    }
    static std::string parking_of(const std::string& work_queue) { return work_queue + ".parked"; }

    /// Waits for a message in the queue and takes it out. Fails the test when none comes.
    Received take(const std::string& queue, milliseconds within = patience);
    /// The number of ready messages; 0 where there is no queue.
    std::uint32_t depth(const std::string& queue);
    bool await_depth(const std::string& queue, std::uint32_t messages, milliseconds within = patience);
    bool exists(const std::string& queue) { return client.look_at(queue).has_value(); }

    Client client;
    ConfigFile config;
    Daemon daemon;

  private:
    void delete_earlier_detours();

    std::string prefix_;
    Clock::time_point declared_;  // what there is has been declared before
};

}  // namespace retryd::test
