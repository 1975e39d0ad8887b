// The claim of ComposeScratch, counted: every `new` of this executable goes through the counter below.
#include <cstdlib>
#include <new>

#include "core/compose_scene.h"
#include "support/catch.h"

namespace {
std::size_t allocations = 0;
}  // namespace

// Replaced together with their nothrow forms: a sanitizer would pair its own with ours otherwise.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size) {
    if (void* memory = operator new(size, std::nothrow)) return memory;
    throw std::bad_alloc{};
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
    std::free(memory);
}

namespace retryd::core::allocations_test {
namespace {

using namespace test;

/// From the header table to what is published, as the relay does it.
std::size_t allocations_of_one_way(const Message& message, const Entry* entry, ComposeScratch& scratch) {
    const std::size_t before = allocations;
    const Table table = message.properties.header_table();
    const auto death = read_death(table, "retryd.errors");
    const ComposeContext context{death, death ? read_retry_history(table, death->queue) : RetryHistory{},
                                 connection_user};
    const Decision decision = decide(context.death, context.history, entry, WallTime{}, 0.5);
    if (const auto* retry = std::get_if<Retry>(&decision)) {
        compose_retry(message, context, *retry, scratch);
    } else {
        compose_parked(message, context, std::get<Park>(decision), WallTime{}, scratch);
    }
    return allocations - before;
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
