#include "commands/status/status.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <iostream>
#include <memory>
#include <sstream>

#include "amqp/error.h"
#include "amqp/refusal.h"
#include "commands/common/terminal.h"
#include "commands/status/print_status.h"
#include "core/duration.h"
#include "core/names.h"
#include "core/safe_text.h"
#include "system/signals.h"

namespace retryd::commands {

namespace {

constexpr const char* connection_name = "retryd status";
StatusReport look(Broker& broker, const config::Settings& settings, const StatusView& view) {
    StatusReport status = collect_status(broker, settings.policy, ask_daemon(settings), settings.http.has_value());
    arrange(status, view);
    return status;
}

void print(const StatusReport& status, bool one_line, const Report& output, std::ostream& out) {
    if (output.json()) return print_status_json(status, one_line, out);
    print_status(status, output.colour(), out);
}

/// UTC, to the second: `2026-01-31 03:04:05Z`.
std::string utc_now() {
    const std::time_t seconds = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts)};
}

/// Collects the status again and again, over one connection for as long as it lasts.
class Watch {
  public:
    /// `in_place`: each status is drawn over the last one. Throws amqp::Error.
    Watch(const config::Settings& settings, const StatusView& view, const Report& output, bool in_place)
        : settings_(settings),
          view_(view),
          output_(output),
          in_place_(in_place),
          broker_(connect(settings, connection_name)) {}

    /// Returns the text to show. Never throws amqp::Error.
    std::string look_again(const system::Signals& signals) {
        std::ostringstream text;
        try {
            if (!broker_) reconnect(signals);
            const StatusReport status = look(*broker_, settings_, view_);
            if (!output_.json()) text << utc_now() << '\n';
            print(status, true, output_, text);
            last_ = text.str();
        } catch (const amqp::Error& error) {
            broker_.reset();
            print_loss(error, text);
            if (in_place_) text << "What was seen before:\n\n" << last_;
        }
        return text.str() + (output_.json() || in_place_ ? "" : "\n");
    }

  private:
    /// Connecting to a host that drops packets takes long, and there is nothing to end cleanly yet, so a signal ends
    /// the process at once.
    void reconnect(const system::Signals& signals) {
        const system::Signals::Delivered at_once(signals, Screen::leave_and_exit);
        broker_ = connect(settings_, connection_name);
    }

    void print_loss(const amqp::Error& error, std::ostream& out) const {
        const std::string what = std::string{error.what()} + "; " + amqp::remedy(error.kind());
        if (output_.json()) return print_failure_json(what, true, out);
        out << utc_now() << "\nretryd: " << core::safe_line(what) << ". It is tried again every "
            << core::format_duration(view_.interval) << ".\n";
    }

    const config::Settings& settings_;
    const StatusView& view_;
    const Report& output_;
    bool in_place_;
    std::unique_ptr<Broker> broker_;
    std::string last_;
};

int watch(const config::Settings& settings, const StatusView& view, const Report& output) {
    // Redraws in place only if the output is the real standard output and that is a terminal.
    const bool in_place = &output.out() == &std::cout && isatty(STDOUT_FILENO) == 1 && !output.json();
    Watch watch(settings, view, output, in_place);
    Screen screen(in_place, output.out());
    const system::Signals signals =
        in_place ? system::Signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP} : system::Signals{SIGINT, SIGTERM};
    do {
        screen.show(watch.look_again(signals));
    } while (output.out().good() && screen.stay(signals, view.interval));
    return exit_code::fine;
}

}  // namespace

int status(const ReportOptions& options, const StatusView& view, std::ostream& out, std::ostream& err) {
    const Report output(options, out, err);
    return output.run([&](const config::Settings& settings) {
        const auto broker = connect(settings, connection_name);
        print(look(*broker, settings, view), false, output, out);
        return exit_code::fine;
    });
}

int watch_status(const ReportOptions& options, const StatusView& view, std::ostream& out, std::ostream& err) {
    const Report output(options, out, err);
    return output.run([&](const config::Settings& settings) { return watch(settings, view, output); });
}

void arrange(StatusReport& status, const StatusView& view) {
    using Queue = telemetry::QueueStatus;
    std::erase_if(status.queues, [&](const Queue& queue) { return !core::glob_matches(view.match, queue.work_queue); });
    const auto number = [&](const Queue& queue) {
        if (view.order == StatusView::Order::waiting) return waiting_on(queue.rungs);
        if (view.order == StatusView::Order::parked) return queue.parked ? queue.parked->messages.value_or(0) : 0;
        return waiting_or_parked(queue);
    };
    const bool by_name = view.order == StatusView::Order::name;
    std::stable_sort(status.queues.begin(), status.queues.end(), [&](const Queue& left, const Queue& right) {
        return by_name ? left.work_queue < right.work_queue : number(left) > number(right);
    });
}

}  // namespace retryd::commands
