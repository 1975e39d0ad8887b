// The producer that publishes to work queues and the consumers of these, in threads of their own; they survive broken
// connections and a broker that is down.
#pragma once

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "stress/ledger.h"
#include "support/client.h"

namespace retryd::stress {

/// The nodes of a broker, tried in turn.
using Addresses = std::vector<test::Address>;

/// A connection to the first node that takes it, from the `from`-th on. Throws when none does.
std::unique_ptr<test::Client> connect(const Addresses& addresses, std::size_t from = 0);

/// Publishes them to that work queue until each is confirmed, however often the connection breaks. False: it was told
/// to end before.
bool publish_all(const Addresses& addresses, Ledger& ledger, const std::string& queue,
                 const std::vector<std::size_t>& ids, const std::atomic<bool>& ending);

/// Publishes random messages, as many as it is allowed.
class Producer {
  public:
    Producer(Addresses addresses, Ledger& ledger, std::vector<std::string> queues, unsigned seed);
    ~Producer();
    Producer(const Producer&) = delete;
    Producer& operator=(const Producer&) = delete;

    /// As many more.
    void allow(std::size_t messages) { allowed_ += messages; }
    bool caught_up() const { return published_ == allowed_; }

  private:
    void run();
    void publish_some();

    Addresses addresses_;
    Ledger& ledger_;
    std::vector<std::string> queues_;
    std::mt19937 random_;
    std::atomic<std::size_t> allowed_{0};
    std::atomic<std::size_t> published_{0};
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

/// A team's service: rejects each message as often as the ledger says, then acks it.
class Consumer {
  public:
    Consumer(Addresses addresses, Ledger& ledger, std::string queue, std::size_t first_node = 0);
    ~Consumer();
    Consumer(const Consumer&) = delete;
    Consumer& operator=(const Consumer&) = delete;

    /// Closes its connection until come_back(); it is closed when this returns.
    void leave();
    void come_back() { is_to_leave_ = false; }
    /// While held it takes no deliveries, but stays connected.
    void hold(bool held) { held_ = held; }
    const std::string& queue() const { return queue_; }

  private:
    void run();
    void consume();
    void settle(test::Client& client, const test::Received& message);

    Addresses addresses_;
    Ledger& ledger_;
    std::string queue_;
    std::size_t node_;
    std::atomic<bool> is_to_leave_{false};
    std::atomic<bool> away_{true};
    std::atomic<bool> held_{false};
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

}  // namespace retryd::stress
