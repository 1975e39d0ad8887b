#include "daemon/run.h"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <iostream>
#include <random>
#include <thread>

#include "amqp/decode_stack.h"
#include "config/load.h"
#include "core/duration.h"
#include "daemon/stop.h"
#include "daemon/supervisor.h"
#include "telemetry/log.h"

namespace retryd::daemon {
namespace {

using config::LogLevel;

constexpr int wrong_configuration = 78;

/// SIGTERM and SIGINT as a file descriptor; blocked in this thread and in those that it starts.
class StopSignals {
  public:
    StopSignals() {
        sigset_t signals;
        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        pthread_sigmask(SIG_BLOCK, &signals, nullptr);
        fd_ = signalfd(-1, &signals, SFD_CLOEXEC);
    }
    ~StopSignals() { close(fd_); }
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    /// Waits for one of them, or for `other` to be requested.
    void wait(const Stop& other) const {
        std::array fds{pollfd{fd_, POLLIN, 0}, pollfd{other.fd(), POLLIN, 0}};
        while (poll(fds.data(), fds.size(), -1) < 0) {
        }
    }

  private:
    int fd_ = -1;
};

/// Runs beside the daemon: passes a signal on, and ends the process should a call into the network hang then.
void watch_for_stop(const config::Settings& settings, const StopSignals& signals, telemetry::Log& log, Stop& stop,
                    const Stop& ended) {
    constexpr core::Milliseconds grace{500};
    signals.wait(ended);
    stop.request();
    if (ended.wait(settings.shutdown_timeout + grace)) return;
    log.write(LogLevel::warning, "stop_forced",
              "did not end within the shutdown timeout of " + core::format_duration(settings.shutdown_timeout) +
                  "; leaving now. What was not acked is given again by the broker: nothing is lost, some messages may "
                  "come twice");
    _exit(1);
}

void run_with(const config::Settings& settings) {
    amqp::provide_decode_stack();
    telemetry::Log log(settings.log, telemetry::sink_of_standard_error());
    const StopSignals signals;
    Stop stop;
    Stop ended;
    std::random_device seed;
    std::minstd_rand random(seed());
    std::uniform_real_distribution<double> uniform(0.0, 1.0);

    log.write(LogLevel::info, "started", "started");
    std::thread watcher([&] { watch_for_stop(settings, signals, log, stop, ended); });
    supervise(settings, log, stop, [&] { return uniform(random); });
    ended.request();
    watcher.join();
    log.write(LogLevel::info, "stopped", "stopped");
}

}  // namespace

int run(const std::string& config_path) {
    const auto loaded = config::load_file(config_path, config::real_surroundings());
    if (const auto* problems = std::get_if<config::Problems>(&loaded)) {
        std::cerr << config::format(*problems, config_path)
                  << "retryd does not start; nothing on the broker was touched\n";
        return wrong_configuration;
    }
    run_with(std::get<config::Settings>(loaded));
    return 0;
}

}  // namespace retryd::daemon
