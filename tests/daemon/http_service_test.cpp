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
    void tick() { http_.tick(system::steady_now()); }
    bool checks_begin() const {
        return await([&] { return *looks_ > 0; }, core::Milliseconds{200});
    }

    DaemonState state;

  private:
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
        }};
    HeldQueues held_{log_};
    ParkedAge age_{nullptr, log_, state.faults()};
    Desk desk_{DeskActions{}, log_, [] { return std::nullopt; }};
    HttpService http_{configuration_, watchdog_, state, checks_, log_, held_, age_, desk_};
};

}  // namespace

TEST_CASE("http service: checks begin once it consumes and what is declared in advance has been answered") {
    Checked s;
    s.state.declaring_in_advance(true);
    s.tick();
    s.consume();
    s.tick();
    CHECK_FALSE(s.checks_begin());
    s.state.declaring_in_advance(false);
    s.tick();
    CHECK(s.checks_begin());
}

}  // namespace retryd::daemon::http_service_test
