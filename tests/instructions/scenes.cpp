#include "instructions/scenes.h"

namespace retryd::instructions {
namespace {

using core::Field;
using core::test::number;
using core::test::seconds;
using core::test::text;

/// Headers as many producers send them.
std::vector<Field> usual_headers() {
    return {{"traceparent", text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")},
            {"tenant", text("acme")},
            {"schema", number(3)}};
}

/// The usual ones, those that the broker adds about the first death, and those that retryd set on the attempt before.
std::vector<Field> headers_of_round(std::int64_t attempt) {
    std::vector<Field> fields = usual_headers();
    fields.insert(fields.end(), {{"x-first-death-queue", text("email.retry.5s")},
                                 {"x-first-death-reason", text("expired")},
                                 {"x-first-death-exchange", text("")},
                                 {"x-last-death-queue", text("email")},
                                 {"x-last-death-reason", text("rejected")},
                                 {"x-last-death-exchange", text("")},
                                 {"retryd-queue", text("email")},
                                 {"retryd-attempt", number(attempt - 1)},
                                 {"retryd-reason", text("rejected")},
                                 {"retryd-first-death", seconds(1'700'000'000)},
                                 {"retryd-exchange", text("shop")},
                                 {"retryd-routing-key", text("order.paid")}});
    return fields;
}

/// A death in the work queue, and the expiry on a rung before it, as RabbitMQ 4 records them.
void died_after_a_rung(Scene& scene, std::vector<Field> headers) {
    core::test::Headers& values = scene.dead.headers;
    headers.insert(headers.begin(),
                   {"x-death", values.array({values.death({}), values.death({"email.retry.30s", "expired"})})});
    scene.dead.message.properties.headers = values.proven(std::move(headers));
}

void add_usual_properties(core::Message& message) {
    message.properties.content_type = "application/json";
    message.properties.delivery_mode = std::uint8_t{2};
    message.properties.message_id = "f1a0c1a2-6f0e-4d55-8a4b-0c5f0d5e8b11";
    message.body = "{}";
}

}  // namespace

core::Policy policy_of(int rungs) {
    core::Policy policy;
    core::Entry entry{"email", {"standard"}, {"{queue}.parked"}};
    for (int rung = 1; rung <= rungs; ++rung)
        entry.ladder.steps.push_back(std::chrono::seconds{5 * rung});
    policy.entries.push_back(std::move(entry));
    return policy;
}

void first_failure(Scene& scene) {
    scene.policy = policy_of(5);
    add_usual_properties(scene.dead.message);
    scene.dead.died({}, usual_headers());
}

void third_failure_of_five(Scene& scene) {
    scene.policy = policy_of(5);
    add_usual_properties(scene.dead.message);
    died_after_a_rung(scene, headers_of_round(3));
}

void one_of_twenty_queues(Scene& scene) {
    first_failure(scene);
    const core::Entry last = scene.policy.entries.back();
    for (int other = 1; other < 20; ++other) {
        core::Entry entry = last;
        entry.match = "email-" + std::to_string(other);
        scene.policy.entries.insert(scene.policy.entries.begin(), std::move(entry));
    }
}

void last_of_fifty_rungs(Scene& scene) {
    scene.policy = policy_of(50);
    add_usual_properties(scene.dead.message);
    died_after_a_rung(scene, headers_of_round(50));
}

void two_hundred_foreign_headers(Scene& scene) {
    first_failure(scene);
    std::vector<Field> headers = usual_headers();
    for (int header = 0; header < 200; ++header)
        headers.push_back({scene.texts.emplace_back("x-header-" + std::to_string(header)), text("a value")});
    scene.dead.died({}, std::move(headers));
}

void parked_with_its_story(Scene& scene) {
    scene.policy = policy_of(5);
    add_usual_properties(scene.dead.message);
    scene.dead.message.properties.user_id = "alice";
    scene.dead.message.properties.expiration = "60000";
    std::vector<Field> headers = headers_of_round(6);
    headers.push_back({"CC", scene.dead.headers.array({text("audit"), text("archive")})});
    died_after_a_rung(scene, std::move(headers));
}

void no_death(Scene& scene) {
    scene.policy = policy_of(5);
    add_usual_properties(scene.dead.message);
    scene.dead.arrives_with(usual_headers());
}

}  // namespace retryd::instructions
