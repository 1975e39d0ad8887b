// Each of the example configurations keeps what its name promises.
#include <filesystem>

#include "commands/climb.h"
#include "commands/queue_count.h"
#include "config/load.h"
#include "core/names.h"
#include "support/catch.h"

namespace retryd::commands::examples_test {
namespace {

using namespace std::chrono_literals;

core::Policy policy_of(const std::string& name) {
    const std::string path = std::string{RETRYD_EXAMPLES} + "/" + name + ".yaml";
    const auto loaded = config::load_file(path, config::real_surroundings());
    if (const auto* problems = std::get_if<config::Problems>(&loaded)) FAIL(config::format(*problems, path));
    return std::get<config::Settings>(loaded).policy;
}

}  // namespace

TEST_CASE("five minutes of patience") {
    const core::Policy policy = policy_of("five-minutes");
    const core::Ladder& ladder = policy.entries.at(0).ladder;
    CHECK(total_wait(ladder) == 5min);
    CHECK(ladder.steps.size() == 7);
    CHECK(policy.entries[0].max_age == 10min);
    const QueueCount count = count_queues(policy);
    CHECK(count.fixed == 2);
    CHECK(count.per_match.at(0).queues == 7);  // one rung is climbed twice
}

TEST_CASE("a day of patience") {
    const core::Policy policy = policy_of("one-day");
    CHECK(policy.entries.at(0).on.maxlen == core::Action::retry);
    for (const core::Entry& entry : policy.entries) {
        CHECK(total_wait(entry.ladder) == 24h);
        CHECK(entry.ladder.steps.size() == 18);
    }
    const QueueCount count = count_queues(policy);
    CHECK(count.fixed == 11);
    CHECK(count.per_match.at(0).queues == 9);
}

TEST_CASE("webhooks: many attempts, spread") {
    const core::Policy policy = policy_of("webhooks");
    const core::Ladder& ladder = policy.entries.at(0).ladder;
    CHECK(ladder.steps.size() == 40);
    CHECK(ladder.steps.front() == 2s);
    CHECK(ladder.steps.back() == 1h);
    CHECK(ladder.jitter == core::Jitter{30, 4});
    CHECK(policy.entries[0].on.expired == core::Action::drop);
    CHECK(total_wait(ladder) > 24h);
    CHECK(total_wait(ladder) <= 31h);
    const QueueCount count = count_queues(policy);
    CHECK(count.fixed == 2);
    CHECK(count.per_match.at(0).queues == 12 * 4 + 1);
}

TEST_CASE("one shared ladder: five queues for all work queues together") {
    const core::Policy policy = policy_of("one-shared-ladder");
    CHECK(policy.entries.at(0).ladder.return_path == core::ReturnPath::headers);
    CHECK(policy.entries[0].ladder.steps.size() == 3);
    CHECK(total_wait(policy.entries[0].ladder) == 16min + 5s);
    CHECK(core::match(policy, "whatever") != nullptr);
    const QueueCount count = count_queues(policy);
    CHECK(count.fixed == 5);
    CHECK(count.per_match.empty());
}

TEST_CASE("there is a test for every example") {
    std::size_t examples = 0;
    for (const auto& file : std::filesystem::directory_iterator{RETRYD_EXAMPLES})
        examples += file.path().extension() == ".yaml" ? 1 : 0;
    CHECK(examples == 4);
}

}  // namespace retryd::commands::examples_test
