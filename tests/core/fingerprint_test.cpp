#include "core/fingerprint.h"

#include <functional>
#include <set>

#include "core/headers.h"
#include "support/catch.h"

namespace retryd::core::fingerprint_test {
namespace {

using namespace test;

std::uint64_t digest_of(Table headers, std::string_view body = "body", std::string_view id = "") {
    Message message;
    message.properties.headers = headers;
    if (!id.empty()) message.properties.message_id = id;
    message.body = body;
    return digest(message);
}

}  // namespace

// ── Of a message ───────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("a redelivery of a message has its digest, whatever the broker counts on it") {
    Headers headers;
    const auto once = digest_of(headers.fields({{"x-delivery-count", number(1)}, {"mine", text("a")}}));
    CHECK(once == digest_of(headers.fields({{"x-delivery-count", number(7)}, {"mine", text("a")}})));
    CHECK(once == digest_of(headers.fields({{"mine", text("a")}, {"x-acquired-count", number(7)}})));
}

TEST_CASE("messages that differ have another digest") {
    Headers headers;
    std::set<std::uint64_t> seen;
    seen.insert(digest_of({}));
    seen.insert(digest_of({}, "other"));
    seen.insert(digest_of({}, "body", "id"));
    seen.insert(digest_of(headers.fields({{"mine", text("a")}})));
    seen.insert(digest_of(headers.fields({{"mine", text("b")}})));
    seen.insert(digest_of(headers.fields({{"minea", text("")}})));
    seen.insert(digest_of(headers.deaths({{"email", "rejected", 1}})));
    seen.insert(digest_of(headers.deaths({{"email", "rejected", 2}})));
    for (const Value& value : headers.one_of_each())
        seen.insert(digest_of(headers.fields({{"one", value}})));
    CHECK(seen.size() == 8 + headers.one_of_each().size());
}

// ── Of a policy ────────────────────────────────────────────────────────────────────────────────────────────────────

using namespace std::chrono_literals;

TEST_CASE("two policies that lead a message to another place have another fingerprint") {
    const std::vector<std::function<void(Policy&)>> changes{
        [](Policy&) {},
        [](Policy& p) { p.error_exchange = "other"; },
        [](Policy& p) { p.error_queue = "other"; },
        [](Policy& p) { p.catch_all = "other"; },
        [](Policy& p) {
            p.sources = {{"q", Dialect::rebus}};
        },
        [](Policy& p) {
            p.sources = {{"other", Dialect::rebus}};
        },
        [](Policy& p) {
            p.sources = {{"q", Dialect::spring}};
        },
        [](Policy& p) {
            p.sources = {{"q", Dialect::rebus, {WorkQueueOf::Place::name, "w"}}};
        },
        [](Policy& p) {
            p.sources = {{"q", Dialect::rebus, {WorkQueueOf::Place::header, "w"}}};
        },
        [](Policy& p) {
            p.sources = {{"q", Dialect::rebus, {}, "why"}};
        },
        [](Policy& p) { p.entries.pop_back(); },
        [](Policy& p) { p.entries[0].match = "other"; },
        [](Policy& p) { p.entries[0].ladder.name = "other"; },
        [](Policy& p) { p.entries[0].ladder.steps = {1s}; },
        [](Policy& p) {
            p.entries[0].ladder.steps = {2s, 1s};
        },
        [](Policy& p) { p.entries[0].ladder.queue_type = QueueType::classic; },
        [](Policy& p) { p.entries[0].ladder.return_path = ReturnPath::headers; },
        [](Policy& p) { p.entries[0].ladder.jitter.width_percent = 10; },
        [](Policy& p) { p.entries[0].ladder.jitter.lanes = 2; },
        [](Policy& p) { p.entries[0].parked.queue = "other"; },
        [](Policy& p) { p.entries[0].parked.exchange = "other"; },
        [](Policy& p) { p.entries[0].parked.routing_key = ""; },
        [](Policy& p) { p.entries[0].on.rejected = Action::drop; },
        [](Policy& p) { p.entries[0].on.delivery_limit = Action::drop; },
        [](Policy& p) { p.entries[0].on.expired = Action::drop; },
        [](Policy& p) { p.entries[0].on.maxlen = Action::drop; },
        [](Policy& p) { p.entries[0].max_age = 1h; },
        [](Policy& p) { p.entries[0].verdict = true; },
        [](Policy& p) { p.entries[0].ladder.x_death = XDeath::keep; },
        [](Policy& p) { std::swap(p.entries[0], p.entries[1]); },
    };
    std::set<std::string> seen;
    for (const auto& change : changes) {
        Policy policy;
        policy.entries = {{"email", {"l", {1s, 2s}}, {"parked"}}, {"web.*", {"l", {1s}}, {"parked"}}};
        change(policy);
        CHECK(fingerprint(policy).size() == 16);
        seen.insert(fingerprint(policy));
    }
    CHECK(seen.size() == changes.size());
}

TEST_CASE("a fingerprint is the same on every machine and with every version") {
    CHECK(consumer_tag({}) == "retryd-" + fingerprint({}));
    CHECK(fingerprint({}) == "6c0c0ae770e0c58e");
}

}  // namespace retryd::core::fingerprint_test
