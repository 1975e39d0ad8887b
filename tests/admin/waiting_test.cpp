#include "admin/parked.h"
#include "core/proof.h"
#include "support/catch.h"

namespace retryd::admin::waiting_test {
namespace {

using core::Value;

/// As retryd puts it on a rung.
struct OnRung {
    explicit OnRung(bool proven = true) {
        fields = {{core::header::queue, Value::of_longstr("email")},
                  {core::header::attempt, Value::of_long(2)},
                  {core::header::reason, Value::of_longstr("rejected")},
                  {core::header::first_death, Value::of_timestamp(1'800'000'000)},
                  {core::header::routing_key, Value::of_longstr("order.paid")},
                  {"theirs", Value::of_longstr("kept")}};
        if (proven) fields.push_back(core::test::proof_of({fields.data(), fields.size()}, proof));
        message.properties.headers = core::Table{fields.data(), fields.size()};
    }
    core::Table headers() const { return message.properties.header_table(); }

    std::vector<core::Field> fields;
    core::ProofText proof{};
    core::Message message;
};

}  // namespace

TEST_CASE("what waits on a rung tells its work queue, its attempts and its first death by its proof alone") {
    const OnRung proven;
    const Parked waiting = read_waiting(proven.headers(), core::test::proof_keys);
    CHECK(waiting.queue == "email");
    CHECK(waiting.reason == "rejected");
    CHECK(waiting.attempts == 2);
    CHECK(waiting.at == 1'800'000'000U);
    const OnRung forged(false);
    CHECK(read_waiting(forged.headers(), core::test::proof_keys).queue.empty());
}

TEST_CASE("parked by hand: its story is kept, with why and when, and a proof over all of it") {
    const OnRung message;
    const Parked waiting = read_waiting(message.headers(), core::test::proof_keys);
    const core::ComposeContext context = compose_context_of(waiting, "retryd", core::test::proof_keys);
    core::ComposeScratch scratch;
    const core::WallTime now{core::Milliseconds{1'800'000'100'000}};
    const core::Message composed = compose_parked_by_hand(message.message, context, now, scratch);
    const Parked parked = read_parked(composed.properties.header_table(), "retryd.errors", core::test::proof_keys);
    CHECK(parked.by_retryd);
    CHECK(parked.queue == "email");
    CHECK(parked.reason == "by-hand");
    CHECK(parked.at == 1'800'000'100U);
    CHECK(parked.attempts == 2);
    CHECK(text_of(find(composed.properties.header_table(), core::header::routing_key)) == "order.paid");
    CHECK(text_of(find(composed.properties.header_table(), "theirs")) == "kept");
}

}  // namespace retryd::admin::waiting_test
