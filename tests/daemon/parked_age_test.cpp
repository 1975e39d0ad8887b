#include "daemon/parked_age.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include "support/await.h"
#include "support/catch.h"

// When the daemon takes out what has been parked for too long, and what it says of it.

namespace retryd::daemon::parked_age_test {
namespace {

using core::Milliseconds;
using test::await;

BrokerTarget target_with(bool rule) {
    config::Settings settings;
    core::Entry entry;
    entry.match = "email";
    if (rule) entry.parked_age = core::ParkedAge{Milliseconds{3'600'000}, "/archive"};
    settings.policy.entries = {entry};
    return {std::make_shared<const config::Settings>(settings), {}};
}

/// Counts the looks, and says what they have found.
class Scene {
  public:
    explicit Scene(const admin::AgeRun& found = {}) : state_(std::make_shared<State>()) {
        state_->found = found;
        age.emplace(
            [state = state_](const auto&, const auto&, const admin::AgeMemory& before, const auto& go_on) {
                state->before = before;
                ++state->begun;
                await([&] { return !state->hangs || !go_on(); });
                ++state->ended;
                if (state->fails) throw std::runtime_error("no route");
                return state->found;
            },
            log_, faults);
    }

    /// A second later, until what was begun is done.
    void tick(const std::optional<BrokerTarget>& target, Milliseconds later = Milliseconds{1'000}) {
        now_ += later;
        age->tick(target, now_);
        if (state_->hangs) return;
        REQUIRE(await([&] {
            age->tick(target, now_);
            return !age->looking();
        }));
    }

    /// What the last look was told of the one before it.
    const admin::AgeMemory& before() const { return state_->before; }
    void find(const admin::AgeRun& found) { state_->found = found; }
    core::SteadyTime now() const { return now_; }
    int looks() const { return state_->begun; }
    int looks_ended() const { return state_->ended; }
    void hang(bool on) { state_->hangs = on; }
    void fail(bool on) { state_->fails = on; }

    telemetry::Faults faults;
    std::optional<ParkedAge> age;

  private:
    struct State {
        std::atomic<int> begun{0};
        std::atomic<int> ended{0};
        std::atomic<bool> hangs{false};
        std::atomic<bool> fails{false};
        admin::AgeRun found;
        admin::AgeMemory before;
    };

    std::shared_ptr<State> state_;
    telemetry::Log log_{{config::LogLevel::error, config::LogFormat::text}, telemetry::Log::Sink::plain};
    core::SteadyTime now_{Milliseconds{1'000'000}};
};

}  // namespace

TEST_CASE("parked age: without a rule, or without a broker, nobody looks") {
    Scene scene;
    scene.tick(std::nullopt);
    scene.tick(target_with(false));
    CHECK(scene.looks() == 0);
}

TEST_CASE("parked age: a look at once, the next one when it makes sense, no more than one a minute") {
    Scene scene({{}, {}, Milliseconds{300'000}});
    const BrokerTarget target = target_with(true);
    scene.tick(target);
    CHECK(scene.looks() == 1);
    scene.tick(target, Milliseconds{290'000});
    CHECK(scene.looks() == 1);
    scene.tick(target, Milliseconds{20'000});
    CHECK(scene.looks() == 2);
    Scene eager({{}, {}, Milliseconds{0}});
    eager.tick(target);
    eager.tick(target, Milliseconds{50'000});
    CHECK(eager.looks() == 1);
    eager.tick(target, Milliseconds{20'000});
    CHECK(eager.looks() == 2);
}

TEST_CASE("parked age: with other settings the look begins anew, and the one that goes on ends") {
    Scene scene;
    scene.hang(true);
    scene.tick(target_with(true));
    REQUIRE(await([&] { return scene.looks() == 1; }));
    const BrokerTarget other = target_with(true);
    scene.tick(other);
    REQUIRE(await([&] { return scene.looks_ended() == 1; }));
    scene.hang(false);
    scene.tick(other);
    scene.tick(other);
    CHECK(scene.looks() == 2);
}

TEST_CASE("parked age: a look is told what the one before has left, and all are due once the settings are others") {
    const std::pair<std::string, std::string> key{"email", "email.parked"};
    Scene scene;
    scene.find({{}, {}, Milliseconds{60'000}, {{key, {scene.now() + Milliseconds{900'000}, 7, ""}}}});
    const BrokerTarget target = target_with(true);
    scene.tick(target);
    CHECK(scene.before().empty());
    scene.tick(target, Milliseconds{60'000});
    REQUIRE(scene.before().count(key) == 1);
    CHECK(scene.before().at(key).given_back == 7);
    CHECK(scene.before().at(key).due > scene.now());
    scene.tick(target_with(true));
    CHECK(scene.looks() == 3);
    REQUIRE(scene.before().count(key) == 1);
    CHECK(scene.before().at(key).given_back == 7);
    CHECK(scene.before().at(key).due <= scene.now());
}

TEST_CASE("parked age: a connection that comes and goes is no reason to look again") {
    Scene scene;
    scene.find({{}, {}, Milliseconds{300'000}, {}});
    const BrokerTarget target = target_with(true);
    scene.tick(target);
    for (int i = 0; i < 5; ++i) {
        scene.tick(std::nullopt);
        scene.tick(target);
    }
    CHECK(scene.looks() == 1);
    scene.tick(target, Milliseconds{300'000});
    CHECK(scene.looks() == 2);
}

TEST_CASE("parked age: after a look that was broken off all are due") {
    const std::pair<std::string, std::string> key{"email", "email.parked"};
    Scene scene;
    scene.find({{}, {}, Milliseconds{60'000}, {{key, {scene.now() + Milliseconds{900'000}, 7, ""}}}});
    const BrokerTarget target = target_with(true);
    scene.hang(true);
    scene.tick(target);
    REQUIRE(await([&] { return scene.looks() == 1; }));
    scene.tick(std::nullopt);
    REQUIRE(await([&] { return scene.looks_ended() == 1; }));
    scene.hang(false);
    scene.tick(target);
    scene.tick(target);
    CHECK(scene.looks() == 2);
    REQUIRE(scene.before().count(key) == 1);
    CHECK(scene.before().at(key).due <= scene.now());
}

TEST_CASE("parked age: what was taken out is counted by queue and by what became of it") {
    Scene scene({{{"a.parked", "/archive/a", 3, ""}, {"b.parked", "", 2, ""}, {"c.parked", "", 0, "why"}},
                 {},
                 Milliseconds{60'000}});
    const BrokerTarget target = target_with(true);
    scene.tick(target);
    scene.tick(target, Milliseconds{60'000});
    const auto counts = scene.age->counts();
    REQUIRE(counts.size() == 2);
    CHECK(counts[0].queue == "a.parked");
    CHECK(counts[0].outcome == "archived");
    CHECK(counts[0].messages == 6);
    CHECK(counts[1].outcome == "dropped");
    CHECK(counts[1].messages == 4);
}

TEST_CASE("parked age: a fault lasts until a look ends without one, or the rule is gone") {
    Scene scene({{}, {}, Milliseconds{60'000}});
    const BrokerTarget target = target_with(true);
    scene.fail(true);
    scene.tick(target);
    REQUIRE(scene.faults.all().size() == 1);
    CHECK(scene.faults.all().front().text.find("no route") != std::string::npos);
    CHECK(scene.faults.all().front().text.find("Nothing is lost; they are tried again in 5m") != std::string::npos);
    scene.fail(false);
    scene.tick(target, Milliseconds{290'000});
    CHECK(scene.faults.all().size() == 1);
    scene.tick(target, Milliseconds{10'000});
    CHECK(scene.faults.all().empty());
    scene.fail(true);
    scene.tick(target, Milliseconds{60'000});
    CHECK(scene.faults.all().size() == 1);
    scene.tick(target_with(false));
    CHECK(scene.faults.all().empty());
}

TEST_CASE("parked age: a look that could not go to its end clears no fault of the queues behind") {
    Scene scene({{{"a.parked", "", 0, "why"}, {"b.parked", "", 0, "why not"}}, {}, Milliseconds{60'000}});
    const BrokerTarget target = target_with(true);
    scene.tick(target);
    REQUIRE(scene.faults.all().size() == 1);
    CHECK(scene.faults.all().front().text.find("'a.parked'") != std::string::npos);
    CHECK(scene.faults.all().front().text.find(". 1 more of the kind: the log has them") != std::string::npos);
    scene.fail(true);
    scene.tick(target, Milliseconds{60'000});
    CHECK(scene.faults.all().front().text.find(". 2 more of the kind") != std::string::npos);
    scene.fail(false);
    scene.find({{{"b.parked", "", 0, "why not"}}, {}, Milliseconds{60'000}});
    scene.tick(target, Milliseconds{300'000});
    CHECK(scene.faults.all().front().text.find("'b.parked'") != std::string::npos);
    CHECK(scene.faults.all().front().text.find("more of the kind") == std::string::npos);
}

TEST_CASE("parked age: at the end of the process what the last look has taken out is told") {
    Scene scene({{{"a.parked", "", 3, ""}}, {}, Milliseconds{60'000}});
    scene.hang(true);
    scene.tick(target_with(true));
    REQUIRE(await([&] { return scene.looks() == 1; }));
    scene.tick(std::nullopt);
    scene.age->end();
    CHECK(scene.looks_ended() == 1);
    REQUIRE(scene.age->counts().size() == 1);
    CHECK(scene.age->counts().front().messages == 3);
}

TEST_CASE("parked age: a look that hangs does not hold up the end for long") {
    std::optional<Scene> scene;
    scene.emplace();
    scene->hang(true);
    scene->tick(target_with(true));
    REQUIRE(await([&] { return scene->looks() == 1; }));
    const auto begun = test::Clock::now();
    scene.reset();
    CHECK(test::since(begun) < test::patience / 2);
}

}  // namespace retryd::daemon::parked_age_test
