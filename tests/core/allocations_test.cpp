// The claim of ComposeScratch, counted: every `new` of this executable.
#include "core/allocations.h"

#include "core/compose_scene.h"
#include "support/catch.h"

namespace retryd::core::allocations_test {
namespace {

using namespace test;

/// From the header table to what is published, as the relay does it.
std::size_t allocations_of_one_way(const Message& message, const Entry* entry, ComposeScratch& scratch) {
    const std::size_t before = retryd::test::allocations();
    const Table table = message.properties.header_table();
    const auto death = read_death(table, "retryd.errors");
    const ComposeContext context{death, death ? read_retry_history(table, death->queue, proof_keys) : RetryHistory{},
                                 connection_user, &proof_keys};
    const Decision decision = decide(context.death, context.history, entry, WallTime{}, 0.5);
    if (const auto* retry = std::get_if<Retry>(&decision)) {
        compose_retry(message, context, *retry, scratch);
    } else {
        compose_parked(message, context, std::get<Park>(decision), WallTime{}, scratch);
    }
    return retryd::test::allocations() - before;
}

}  // namespace

TEST_CASE("once warm, nothing is allocated between the header table and the composed message") {
    const Entry entry{"email", {"standard", {std::chrono::seconds{5}}}, {"parked"}};
    ComposeScene retried;
    retried.message.properties.user_id = "alice";
    retried.died({.original_expiration = "60000"}, {{"CC", text("audit")}, {"a", number(1)}, {"b", number(2)}});
    ComposeScene parked;
    parked.died({.reason = "a reason that is far too long for the inside of a string"});
    ComposeScratch scratch;
    CHECK(allocations_of_one_way(retried.message, &entry, scratch) > 0);
    CHECK(allocations_of_one_way(parked.message, &entry, scratch) > 0);
    CHECK(allocations_of_one_way(retried.message, &entry, scratch) == 0);
    CHECK(allocations_of_one_way(parked.message, &entry, scratch) == 0);
}

}  // namespace retryd::core::allocations_test
