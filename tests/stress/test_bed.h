// Everything that takes part in a stress run: broker, network, retryd, producer, consumers and ledger.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "faults/fault_proxy.h"
#include "stress/ledger.h"
#include "stress/sidecar.h"
#include "stress/traffic.h"
#include "stress/vhost.h"
#include "support/environment.h"

namespace retryd::stress {

struct TestBed {
    /// On the broker of the environment. Brings the load up; retryd is started and consumes when this returns.
    TestBed(unsigned seed, std::string folder);

    int pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); }
    /// A random time, at most as long as this.
    void wait_up_to(int longest_ms);
    /// Whether retryd consumes within that time.
    bool await_consuming(test::milliseconds within);
    /// Calls the function while no message dies in a classic work queue: such a queue dead-letters at most once. What
    /// it sends is lost when the broker dies at that moment, or when the error queue has no leader.
    void without_classic_deaths(const std::function<void()>& disrupt_broker);
    Consumer& consumer_of(const std::string& queue);
    /// The configuration in force, for a daemon that starts now.
    std::string yaml() const { return configuration({network.address()}, variant); }

    std::mt19937 random;
    Addresses addresses;
    test::FaultProxy network;  // between retryd and the broker
    Ledger ledger{ladder_steps};
    int variant = 0;
    Sidecar first;
    Sidecar second;  // runs only during some disruptions
    std::vector<std::unique_ptr<Consumer>> consumers;
    std::unique_ptr<Producer> producer;
};

}  // namespace retryd::stress
