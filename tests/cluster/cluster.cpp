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

std::string unquoted(std::string atom) {
    std::erase(atom, '\'');
    return atom;
}

/// An expression: the queue as the broker knows it.
std::string looked_up(const std::string& queue) {
    return "element(2, {ok, _} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"" + stress::vhost + "\">>, queue, <<\"" +
           queue + "\">>)))";
}

}  // namespace

Cluster::Cluster() : dir_(variable("RETRYD_TEST_CLUSTER_DIR")), broker_(variable("RETRYD_TEST_BROKER")) {
    std::istringstream uris(variable("RETRYD_TEST_CLUSTER_URIS"));
    for (std::string uri; uris >> uri;)
        addresses_.push_back(stress::as_team(parse_address(uri)));
    alive_.assign(addresses_.size(), true);
    for (int node = 1; node <= 3; ++node) {
        shorten_dead_letter_timeout(node);
        names_.push_back(unquoted(evaluate(node, "node().")));
    }
}

Cluster::~Cluster() {
    for (int node = 1; node <= 3; ++node) {
        if (!alive_[place(node)]) start(node);
    }
}

std::string Cluster::evaluate(int node, const std::string& expression) const {
    return erlang_on(dir_ + "/" + std::to_string(node), expression);
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
    evaluate(node, "application:set_env(rabbit, dead_letter_worker_publisher_confirm_timeout, 5000).");
}

int Cluster::leader_of(const std::string& queue) const {
    const auto living = std::find(alive_.begin(), alive_.end(), true) - alive_.begin();
    const std::string leader =
        evaluate(static_cast<int>(living) + 1,
                 "proplists:get_value(leader, rabbit_amqqueue:info(" + looked_up(queue) + ", [leader])).");
    const auto found = std::find(names_.begin(), names_.end(), unquoted(leader));
    if (found == names_.end()) throw std::runtime_error("queue " + queue + " has no leader: " + leader);
    return static_cast<int>(found - names_.begin()) + 1;
}

/// As an Erlang term.
std::string Cluster::member_of(const std::string& queue, int node) const {
    return "{element(1, amqqueue:get_pid(" + looked_up(queue) + ")), list_to_atom(\"" + names_[place(node)] + "\")}";
}

void Cluster::stop_member(const std::string& queue, int node) {
    stopped_.push_back(member_of(queue, node));
    evaluate(node, "ok = ra:stop_server(quorum_queues, " + stopped_.back() + ").");
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
        evaluate(1, "ok = ra:restart_server(quorum_queues, " + member + ").");
}

void Cluster::leave_to(int node, const std::string& queue) const {
    const auto until = [&](const std::string& expression, const std::string& answer) {
        std::string told;
        if (!await([&] { return (told = evaluate(node, expression)).find(answer) != std::string::npos; }))
            throw std::runtime_error(expression + " gives " + told);
    };
    for (int other = 1; other <= 3; ++other) {
        if (other == node) continue;
        const std::string member = "list_to_atom(\"" + names_[place(other)] + "\")";
        until(
            "rabbit_quorum_queue:delete_member(<<\"" + stress::vhost + "\">>, <<\"" + queue + "\">>, " + member + ").",
            "ok");
        // A change of members is permitted once the one before is applied.
        until("ra:remove_member(" + member_of(queue, node) + ", " + member_of(queue, other) + ").", "not_member");
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
