#include "cluster/cluster.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "support/environment.h"
#include "support/shell.h"

namespace retryd::test {
namespace {

std::size_t place(int node) {
    return static_cast<std::size_t>(node - 1);
}

}  // namespace

Cluster::Cluster() : dir_(variable("RETRYD_TEST_CLUSTER_DIR")), broker_(variable("RETRYD_TEST_BROKER")) {
    std::istringstream uris(variable("RETRYD_TEST_CLUSTER_URIS"));
    for (std::string uri; uris >> uri;)
        addresses_.push_back(stress::as_team(parse_address(uri)));
    alive_.assign(addresses_.size(), true);
    for (int node = 1; node <= 3; ++node) {
        shorten_dead_letter_timeout(node);
        std::istringstream name(ctl(node, "eval 'io:format(\"~s~n\", [node()]).'"));
        std::getline(name, names_.emplace_back());
    }
}

Cluster::~Cluster() {
    for (int node = 1; node <= 3; ++node) {
        if (!alive_[place(node)]) start(node);
    }
}

std::string Cluster::ctl(int node, const std::string& command) const {
    return output_of(broker_ + " ctl " + shell_word(dir_ + "/" + std::to_string(node)) + " " + command);
}

void Cluster::kill(int node) {
    output_of(broker_ + " kill " + shell_word(dir_ + "/" + std::to_string(node)));
    alive_[place(node)] = false;
}

void Cluster::start(int node) {
    output_of(broker_ + " start " + shell_word(dir_ + "/" + std::to_string(node)));
    alive_[place(node)] = true;
    shorten_dead_letter_timeout(node);
}

/// When a quorum queue dead-letters to another one that loses its leader at that moment, it sends the messages again
/// after three minutes, and no others meanwhile (seen on 3.10). A test does not wait for that.
void Cluster::shorten_dead_letter_timeout(int node) const {
    ctl(node, "eval 'application:set_env(rabbit, dead_letter_worker_publisher_confirm_timeout, 5000).'");
}

int Cluster::leader_of(const std::string& queue) const {
    const auto living = std::find(alive_.begin(), alive_.end(), true) - alive_.begin();
    const std::string command = "--silent list_queues -p " + stress::vhost + " name leader";
    const std::string listed = ctl(static_cast<int>(living) + 1, command);
    std::istringstream lines(listed);
    for (std::string name, leader; lines >> name >> leader;) {
        if (name != queue) continue;
        const auto found = std::find(names_.begin(), names_.end(), leader);
        if (found != names_.end()) return static_cast<int>(found - names_.begin()) + 1;
    }
    throw std::runtime_error("queue " + queue + " has no leader:\n" + listed);
}

/// As an Erlang term.
std::string Cluster::member_of(const std::string& queue, int node) const {
    const std::string found = "begin {ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"" + stress::vhost +
                              "\">>, queue, <<\"" + queue + "\">>)), element(1, amqqueue:get_pid(Q)) end";
    return "{" + found + ", list_to_atom(\"" + names_[place(node)] + "\")}";
}

void Cluster::stop_member(const std::string& queue, int node) {
    stopped_.push_back(member_of(queue, node));
    ctl(node, "eval 'ok = ra:stop_server(quorum_queues, " + stopped_.back() + ").'");
}

/// The leader goes last: the two others would elect another one.
void Cluster::take_majority(const std::string& queue) {
    const int leader = leader_of(queue);
    stop_member(queue, leader % 3 + 1);
    stop_member(queue, leader);
}

void Cluster::take_followers(const std::string& queue) {
    const int leader = leader_of(queue);
    stop_member(queue, leader % 3 + 1);
    stop_member(queue, (leader + 1) % 3 + 1);
}

void Cluster::give_majority_back() {
    for (const std::string& member : std::exchange(stopped_, {}))
        ctl(1, "eval 'ok = ra:restart_server(quorum_queues, " + member + ").'");
}

void Cluster::leave_to(int node, const std::string& queue) const {
    for (int other = 1; other <= 3; ++other) {
        if (other == node) continue;
        ctl(node, "eval 'ok = rabbit_quorum_queue:delete_member(<<\"" + stress::vhost + "\">>, <<\"" + queue +
                      "\">>, list_to_atom(\"" + names_[place(other)] + "\")).'");
    }
}

std::string Cluster::management_url() {
    return variable("RETRYD_TEST_CLUSTER_MANAGEMENT_URL");
}

stress::Addresses Cluster::addresses_from(int node) const {
    stress::Addresses rotated = addresses_;
    std::rotate(rotated.begin(), rotated.begin() + (node - 1), rotated.end());
    return rotated;
}

}  // namespace retryd::test
