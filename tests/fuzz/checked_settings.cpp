#include "fuzz/checked_settings.h"

#include <time.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "commands/check/check.h"
#include "commands/check/check_json.h"
#include "core/fingerprint.h"
#include "core/names.h"
#include "core/topology.h"
#include "fuzz/require.h"

namespace retryd::fuzz {
namespace {

using core::DesiredItem;

std::optional<std::string> environment(const std::string& name) {
    if (name == "RETRYD_PASSWORD") return std::string{environment_secret};
    if (name == "EMPTY") return "";
    if (name == "LONG") return std::string(300, 'l');
    if (name == "LINES") return "one\ntwo: 'three";
    return std::nullopt;
}

std::optional<std::string> read_file(const std::string& path, std::string& error) {
    if (path == "/run/password") return std::string{file_secret} + "\n";
    if (path == "/run/key") return std::string{file_secret} + std::string(32, 'k') + "\n";
    if (path == "/run/empty") return "\n";
    error = "No such file or directory";
    return std::nullopt;
}

void check_rung(const core::Policy& policy, const core::QueueSpec& queue) {
    const auto made = core::parse_rung(queue.name, queue.arguments);
    require(made.has_value(), "a rung is known again by its name and arguments");
    require(core::is_in_use(policy, *made), "a rung that is declared is in use");
}

void check_item(const core::Policy& policy, const DesiredItem& item) {
    const std::string name = core::name_of(item.item);
    if (const auto* queue = std::get_if<core::QueueSpec>(&item.item)) {
        require(core::usable_queue_name(name), "a queue that is declared has a possible name");
        if (item.role == DesiredItem::ItemRole::rung) check_rung(policy, *queue);
    } else if (!std::holds_alternative<core::BindingSpec>(item.item)) {
        require(core::usable_queue_name(name), "an exchange has a possible name");
    }
}

void check_topology(const core::Policy& policy, const core::BrokerVersion& version) {
    std::set<std::string> queues;
    for (const DesiredItem& item : core::desired_topology(policy, core::features_of(version))) {
        check_item(policy, item);
        const auto* queue = std::get_if<core::QueueSpec>(&item.item);
        require(queue == nullptr || queues.insert(queue->name).second, "no queue is declared twice");
    }
}

/// Control characters would break the line that an operator sees, or the terminal.
bool is_one_line(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
}

bool small(const core::Policy& policy) {
    std::size_t rungs = 0;
    for (const core::Entry& entry : policy.entries)
        rungs += entry.ladder.steps.size() * static_cast<std::size_t>(entry.ladder.jitter.lanes);
    return rungs < 200;
}

}  // namespace

config::FileEnvironment env() {
    return {environment, read_file};
}

std::chrono::milliseconds time_of(const std::function<void()>& work) {
    const auto clock = [] {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
    };
    const auto begin = clock();
    work();
    return std::chrono::duration_cast<std::chrono::milliseconds>(clock() - begin);
}

void check_problems(const config::Problems& problems) {
    require(!problems.empty(), "what is not loaded has a problem");
    for (const config::Problem& problem : problems) {
        const std::string line = config::format(problem, "f");
        require(is_one_line(line), "a problem is one line: " + line);
        require(!problem.message.empty(), "a problem says what it is");
        require(line.find(environment_secret) == std::string::npos, "nothing from the environment is told: " + line);
        require(line.find(file_secret) == std::string::npos, "nothing from a password file is told: " + line);
    }
}

std::string check_settings(const config::Settings& settings) {
    std::ostringstream text;
    commands::print_check(settings, "f", true, true, text);
    std::ostringstream json;
    commands::print_check_json(settings, "f", json);
    require(nlohmann::json::accept(json.str()), "what is said to be JSON is JSON");
    require(core::consumer_tag(settings.policy).size() <= 255, "a consumer tag is a short string");
    // Each rung is compared with all others, so only for small policies.
    if (small(settings.policy)) {
        for (const core::BrokerVersion& version : {core::BrokerVersion{3, 8, 9}, {3, 10, 8}, {4, 0, 5}, {4, 3, 6}})
            check_topology(settings.policy, version);
    }
    return text.str() + json.str();
}

}  // namespace retryd::fuzz
