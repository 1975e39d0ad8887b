// The three RabbitMQ nodes that scripts/cluster has started.
#pragma once

#include <string>
#include <vector>

#include "stress/traffic.h"
#include "stress/vhost.h"

namespace retryd::test {

/// Nodes are numbered 1 to 3. Those that a test has killed are started again at its end.
class Cluster {
  public:
    Cluster();
    ~Cluster();
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    void kill(int node);
    /// Back again when this returns.
    void start(int node);
    /// The node that leads that queue of the load, as a node that is up sees it.
    int leader_of(const std::string& queue) const;
    /// That queue has no leader and finds none, for two of its three members are stopped; its nodes, and all other
    /// queues, are as they were.
    void take_majority(const std::string& queue);
    /// The same, but its leader is left, and answers what it need not agree on with the others.
    void take_followers(const std::string& queue);
    void give_majority_back();
    /// That node is the only one that has the queue from now on.
    void leave_to(int node, const std::string& queue) const;
    /// The management API of the first node.
    static std::string management_url();
    const stress::Addresses& addresses() const { return addresses_; }
    /// All of them, that one first.
    stress::Addresses addresses_from(int node) const;

  private:
    void shorten_dead_letter_timeout(int node) const;
    std::string evaluate(int node, const std::string& expression) const;

    std::string member_of(const std::string& queue, int node) const;
    void stop_member(const std::string& queue, int node);

    std::string dir_;
    std::string broker_;
    stress::Addresses addresses_;
    std::vector<std::string> names_;
    std::vector<bool> alive_;
    std::vector<std::string> stopped_;  // members of the queue that has no leader
};

}  // namespace retryd::test
