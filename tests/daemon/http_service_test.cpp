// When the daemon's own checks begin.
#include "daemon/http_service.h"

#include <atomic>
#include <memory>

#include "support/await.h"
#include "support/catch.h"
#include "system/clock.h"

namespace retryd::daemon::http_service_test {
namespace {

using test::await;

/// The checks count how often they are made.
class Checked {
  public:
    void consume() { state.consuming("h:1, vhost '/'", {}, {4, 3, 6}); }
    /// That long after the last one.
    void tick(core::Milliseconds later = {}) { http_.tick(now_ += later); }
    /// All of them since the last call. Another thread makes them.
    bool checks_made() {
        const bool made = await([&] { return *looks_ >= seen_ + parts; });
        seen_ = *looks_;
        return made;
    }
    /// Not one since the last call, nor soon. One that a busy machine makes later goes unnoticed.
    bool no_check_made() {
        const bool made = await([&] { return *looks_ > seen_; }, core::Milliseconds{200});
        seen_ = *looks_;
        return !made;
    }

    DaemonState state;

  private:
    static constexpr int parts = 2;  // policies, and the rest

    static config::Settings settings() {
        config::Settings settings;
        settings.management.emplace();
        return settings;
    }

    telemetry::Log log_{{config::LogLevel::error, config::LogFormat::text}, telemetry::Log::Sink::plain};
    Configuration configuration_{"", settings(), log_};
    Watchdog watchdog_{log_, std::nullopt};
    std::shared_ptr<std::atomic<int>> looks_ = std::make_shared<std::atomic<int>>(0);
    PeriodicChecks checks_{
        [looks = looks_](const config::Settings&, const config::Endpoint&, admin::CheckScope) -> admin::Diagnosis {
            ++*looks;
            return {};
        },
        {.soon = core::Milliseconds{1}}};
    HeldQueues held_{log_};
    ParkedAge age_{nullptr, log_, state.faults()};
    Desk desk_{DeskActions{}, log_, [] { return std::nullopt; }};
    HttpService http_{configuration_, watchdog_, state, checks_, log_, held_, age_, desk_};
    core::SteadyTime now_ = system::steady_now();
    int seen_ = 0;
};

/// Everything has been checked, and a new connection declares.
void connects_again(Checked& s) {
    s.consume();
    s.tick();
    REQUIRE(s.checks_made());
    s.state.disconnected("h:1, vhost '/'", {}, "gone", "None is lost");
    s.state.declaring_in_advance(true);
    s.tick();
}

}  // namespace

TEST_CASE("http service: checks begin once it consumes and what is declared in advance has been answered") {
    Checked s;
    s.state.declaring_in_advance(true);
    s.tick();
    s.consume();
    s.tick();
    CHECK(s.no_check_made());
    s.state.declaring_in_advance(false);
    s.tick();
    CHECK(s.checks_made());
}

TEST_CASE("http service: no fault has anything checked while a new connection declares, then all is") {
    Checked s;
    connects_again(s);
    CHECK(s.no_check_made());
    s.consume();
    s.state.declaring_in_advance(false);
    s.tick();
    CHECK(s.checks_made());
}

TEST_CASE("http service: what was checked is checked on where a new connection ends before it consumes") {
    Checked s;
    connects_again(s);
    CHECK(s.no_check_made());
    s.state.declaring_in_advance(false);
    s.tick();
    CHECK(s.checks_made());
}

TEST_CASE("http service: what is not answered within a minute is checked, and again once it has been") {
    Checked s;
    s.consume();
    s.state.declaring_in_advance(true);
    s.tick();
    s.tick(core::Milliseconds{59'000});
    CHECK(s.no_check_made());
    s.tick(core::Milliseconds{1'000});
    CHECK(s.checks_made());
    s.tick(core::Milliseconds{1'000});
    CHECK(s.no_check_made());
    s.state.declaring_in_advance(false);
    s.tick(core::Milliseconds{1'000});
    CHECK(s.checks_made());
    s.tick(core::Milliseconds{1'000});
    CHECK(s.no_check_made());
}

}  // namespace retryd::daemon::http_service_test
