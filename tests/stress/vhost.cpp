#include "stress/vhost.h"

#include <algorithm>
#include <stdexcept>

#include "support/environment.h"

namespace retryd::stress {
namespace {

using test::Address;

constexpr const char* password = "stress";

std::string duration_of(const WorkQueue& queue) {
    return queue.name.starts_with("doomed") ? "2s" : "1s";
}

std::string binary(const std::string& text) {
    return "<<\"" + text + "\">>";
}

/// A call whose last argument is who asks for it.
std::string call(const std::string& function, const std::vector<std::string>& arguments) {
    std::string text = function + "(";
    for (const std::string& argument : arguments)
        text += argument + ", ";
    return text + binary("test") + ")";
}

const std::string users = "rabbit_auth_backend_internal:";

void add_user(const std::string& name) {
    const std::string all = binary(".*");
    test::erlang("begin ok = " + call(users + "add_user", {binary(name), binary(password)}) +
                 ", ok = " + call(users + "set_permissions", {binary(name), binary(vhost), all, all, all}) + " end.");
}

/// For what an earlier run may have left, or not.
void run_ignoring_failure(const std::string& expression) {
    try {
        test::erlang(expression);
    } catch (const std::exception&) {
    }
}

Address in_vhost(Address address, const std::string& user) {
    address.user = user;
    address.password = password;
    address.vhost = vhost;
    return address;
}

}  // namespace

const std::vector<WorkQueue>& work_queues() {
    static const std::vector<WorkQueue> queues{
        {.name = "mail", .type = "classic"},
        {.name = "orders"},
        {.name = "hook.1", .match = "hook.*"},
        {.name = "events.classic", .type = "classic", .ladder = "shared"},
        {.name = "events.quorum", .ladder = "shared"},
        {.name = "outdated", .time_to_live = 300},
        {.name = "impatient", .time_to_live = 200, .on = "{expired: retry}"},
        {.name = "rare.own", .ladder = "slow", .random_load = false},
        {.name = "rare.shared", .ladder = "patient", .random_load = false},
        {.name = "doomed.own", .type = "classic", .ladder = "slower", .random_load = false},
        {.name = "doomed.shared", .type = "classic", .ladder = "calm", .random_load = false},
    };
    return queues;
}

const WorkQueue& work_queue(const std::string& name) {
    const auto& queues = work_queues();
    return *std::find_if(queues.begin(), queues.end(), [&](const WorkQueue& queue) { return queue.name == name; });
}

std::string rung_of(const WorkQueue& queue) {
    const bool shared = queue.ladder == "patient" || queue.ladder == "calm";
    return shared ? "retryd." + queue.ladder + "." + duration_of(queue) : queue.name + ".retry." + duration_of(queue);
}

std::string parking_of(const WorkQueue& queue) {
    return queue.name + ".parked";
}

Address as_team(const Address& address) {
    return in_vhost(address, "team");
}

Address as_daemon(const Address& address) {
    return in_vhost(address, daemon_user);
}

void create_vhost(const Addresses& addresses, const std::vector<WorkQueue>& queues) {
    test::erlang(
        "[catch rabbit_vhost:delete(Old, <<\"test\">>) || Old <- rabbit_vhost:list_names(), "
        "match == re:run(Old, \"^stress(-[0-9]+)?$\", [{capture, none}])].");
    for (const std::string& user : {std::string{"team"}, daemon_user})
        run_ignoring_failure(call(users + "delete_user", {binary(user)}) + ".");
    test::erlang("begin ok = " + call("rabbit_vhost:add", {binary(vhost)}) +
                 ", ok = rabbit_vhost:await_running_on_all_nodes(" + binary(vhost) + ", 60000) end.");
    add_user("team");
    add_user(daemon_user);
    for (const WorkQueue& queue : queues)
        declare(addresses, queue);
}

void declare(const Addresses& addresses, const WorkQueue& queue) {
    test::Table arguments{{"x-queue-type", test::longstr(queue.type)},
                          {"x-dead-letter-exchange", test::longstr("errors")}};
    if (queue.type == "quorum") {  // so that its own way to the error queue is safe, too
        arguments.push_back({"x-dead-letter-strategy", test::longstr("at-least-once")});
        arguments.push_back({"x-overflow", test::longstr("reject-publish")});
        arguments.push_back({"x-delivery-limit", test::int64(1'000)});
    }
    if (queue.time_to_live > 0) arguments.push_back({"x-message-ttl", test::int64(queue.time_to_live)});
    connect(addresses)->declare_queue(queue.name, arguments);
}

std::string configuration(const Addresses& daemon_addresses, int variant, const std::vector<WorkQueue>& queues) {
    test::ConfigFile file;
    for (const Address& address : daemon_addresses)
        file.uris.push_back(uri_of(as_daemon(address)));
    file.error_exchange = "errors";
    file.error_queue = error_queue;
    file.catch_all = catch_all;
    file.heartbeat = "2s";
    file.prefetch = variant == 0 ? 200 : 70;
    const std::string last = variant == 0 ? "900ms" : "1100ms";
    file.ladders = {{.name = "quick", .delays = {"200ms", "400ms", last}},
                    {.name = "shared", .delays = {"250ms", "500ms", last}, .return_path = "headers"},
                    {.name = "slow", .delays = {"1s"}},
                    {.name = "patient", .delays = {"1s"}, .return_path = "headers"},
                    {.name = "slower", .delays = {"2s"}},
                    {.name = "calm", .delays = {"2s"}, .return_path = "headers"}};
    for (const WorkQueue& queue : queues) {
        const std::string match = queue.match.empty() ? queue.name : queue.match;
        file.entries.push_back({.match = match, .ladder = queue.ladder, .on = queue.on});
    }
    return file.yaml();
}

}  // namespace retryd::stress
