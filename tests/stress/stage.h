// Everything that takes part in a stress run, for the faults to be done to.
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
#include "stress/world.h"
#include "support/environment.h"

namespace retryd::stress {

struct Stage {
    /// On the broker of the environment. Brings the load up; retryd is started and consumes when this returns.
    Stage(unsigned seed, std::string folder);

    int pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); }
    /// A moment of at most so long, another one each time.
    void wait_up_to(int longest_ms);
    /// Whether retryd consumes within that time.
    bool await_consuming(test::milliseconds within);
    /// Does that to the broker while nothing dies in classic work queues: their way to the error queue is the broker's
    /// at-most-once, whoever retries. It loses what is under way when the broker dies, and what comes before the error
    /// queue has found its leader again.
    void without_classic_deaths(const std::function<void()>& done_to_broker);
    Consumer& consumer_of(const std::string& queue);
    /// The configuration in force, for a daemon that starts now.
    std::string yaml() const { return configuration({network.address()}, variant); }

    std::mt19937 random;
    Addresses addresses;
    test::FaultProxy network;  // between retryd and the broker
    Ledger ledger{ladder_steps};
    int variant = 0;
    Sidecar first;
    Sidecar second;  // of most faults there is none
    std::vector<std::unique_ptr<Consumer>> consumers;
    std::unique_ptr<Producer> producer;
};

}  // namespace retryd::stress
