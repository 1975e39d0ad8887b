// The daemon as systemd hears of it, with no broker to be had.
#include <filesystem>
#include <fstream>
#include <thread>

#include "config/load.h"
#include "daemon/supervisor.h"
#include "support/await.h"
#include "support/catch.h"
#include "support/systemd.h"

namespace retryd::daemon::service_test {
namespace {

using test::await;

constexpr const char* nobody_listens =
    "broker: {uri: amqp://guest@127.0.0.1:1/, reconnect: {first: 1h, max: 1h}}\n"
    "ladders: {standard: {delays: [5s]}}\n"
    "queues: [{match: work, ladder: standard}]\n";
constexpr const char* refused =
    "not connected to 127.0.0.1:1, vhost '/': cannot connect to the broker at "
    "127.0.0.1:1: Connection refused";

/// The supervisor in a thread of its own, under a systemd that listens.
class Service {
  public:
    explicit Service(const std::string& yaml) {
        write(yaml);
        thread_ = std::thread([this] { supervise(context_); });
    }
    ~Service() {
        requests_.stop();
        thread_.join();
        std::filesystem::remove(path_);
    }
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    void reload(const std::string& yaml) {
        write(yaml);
        requests_.reload();
    }
    /// The next message; fails the test where none comes.
    std::string heard() const {
        std::string text;
        REQUIRE(await([&] { return !(text = systemd_.heard()).empty(); }));
        return text;
    }
    const std::string& path() const { return path_; }

  private:
    void write(const std::string& yaml) const { std::ofstream(path_) << yaml; }

    test::Systemd systemd_;
    const std::string path_ = std::filesystem::temp_directory_path() / ("retryd-service-" + std::to_string(getpid()));
    telemetry::Log log_{{config::LogLevel::error, config::LogFormat::text}, telemetry::Log::Sink::plain};
    Configuration configuration_{path_, settings(), log_};
    Requests requests_;
    const core::Random random_ = [] { return 0.5; };
    relay::PoisonDetector poison_;
    relay::HeadTrial trial_;
    amqp::BlockedHeadConnections blocked_heads_;
    amqp::SourceMemories sources_;
    amqp::ConnectionClosingSteps connection_closing_steps_;
    amqp::ForbiddenDeclares forbidden_declares_;
    RungsSeenAt rungs_seen_;
    Watchdog watchdog_{log_, std::nullopt};
    DaemonState state_;
    PeriodicChecks checks_{nullptr};
    HeldQueues held_{log_};
    ParkedAge age_{nullptr, log_, state_.faults()};
    Desk desk_{DeskActions{}, log_, [] { return std::nullopt; }};
    HttpService http_{configuration_, watchdog_, state_, checks_, log_, held_, age_, desk_};
    SessionContext context_{configuration_,      log_,       requests_, random_, poison_, trial_,
                            blocked_heads_,      sources_,   watchdog_, http_,   held_,   connection_closing_steps_,
                            forbidden_declares_, rungs_seen_};
    std::thread thread_;

    static config::Settings settings() {
        config::Settings settings;
        settings.broker.endpoints = {{.host = "127.0.0.1", .port = 1}};
        settings.broker.reconnect.first = settings.broker.reconnect.max = std::chrono::hours(1);
        return settings;
    }
};

}  // namespace

TEST_CASE("service: with no broker to be had it is ready all the same, and says why it is not connected") {
    const Service service(nobody_listens);
    CHECK(service.heard() == "READY=1\nSTATUS=" + std::string{refused});
}

TEST_CASE("service: a reload that is refused ends like one that is taken, and says so until one is taken") {
    Service service(nobody_listens);
    service.heard();
    service.reload("nonsense: 1\n");
    CHECK(service.heard().substr(0, 12) == "RELOADING=1\n");
    const std::string told = service.heard();
    CHECK(told.find("READY=1\nSTATUS=" + std::string{refused} + ". " + service.path() + " is wrong") == 0);
    service.reload(std::string{nobody_listens} + "log: {level: error}\n");
    CHECK(service.heard().substr(0, 12) == "RELOADING=1\n");
    CHECK(service.heard() == "READY=1\nSTATUS=" + std::string{refused});
}

}  // namespace retryd::daemon::service_test
