// A load on a cluster: producer, quorum work queues, consumers and retryd; and the ledger that shows whether anything
// was lost.
#pragma once

#include <memory>
#include <vector>

#include "cluster/cluster.h"
#include "stress/ledger.h"
#include "stress/sidecar.h"
#include "stress/traffic.h"
#include "stress/vhost.h"
#include "support/await.h"
#include "support/folder.h"

namespace retryd::test {

/// Some 200 messages a second through retryd.
class Load {
  public:
    /// retryd's list of brokers begins with that node. The error queue, the rungs and the parking queues were declared
    /// through the other one, which therefore leads them.
    Load(const Cluster& cluster, int connected_to, int led_by);
    ~Load();
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    void run_for(milliseconds time);
    /// Until messages of each work queue are parked. A parking queue is declared for the first of them, and one whose
    /// leader dies in its first election stays without one for good (3.10.8, run): the broker's fault, and not what is
    /// tried here.
    void run_until_parked();
    /// Whether retryd consumes the error queue, as some living node sees it.
    bool consuming() const;
    /// Waits until all is idle, looks for every message, and checks that none is lost or in a wrong place. Prints how
    /// many came twice.
    void check();

  private:
    bool declared() const;
    bool parked() const;
    void begin(const Cluster& cluster, int connected_to);

    stress::Ledger ledger_{stress::ladder_steps};
    TemporaryFolder folder_;
    stress::Addresses addresses_;
    stress::Sidecar daemon_;
    std::vector<std::unique_ptr<stress::Consumer>> consumers_;
    std::unique_ptr<stress::Producer> producer_;
};

}  // namespace retryd::test
