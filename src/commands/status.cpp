#include "commands/status.h"

#include <unistd.h>

#include <iostream>
#include <sstream>

#include "amqp/error.h"
#include "amqp/remedy.h"
#include "commands/exit_code.h"
#include "commands/status_json.h"
#include "commands/status_text.h"
#include "commands/stocktaking.h"
#include "commands/watch.h"

namespace retryd::commands {
namespace {

constexpr const char* connection_name = "retryd status";

Status look(Broker& broker, const config::Settings& settings) {
    return take_stock(broker, settings.policy, ask_daemon(settings));
}

void print(const Status& status, bool one_line, const Report& report, std::ostream& out) {
    if (report.json()) return print_status_json(status, one_line, out);
    print_status(status, report.colour(), out);
}

/// One look after the other, over one connection as long as that lasts.
class Watch {
  public:
    Watch(const config::Settings& settings, const Report& report)
        : settings_(settings), report_(report), broker_(connect(settings, connection_name)) {}

    /// Never throws amqp::Error.
    std::string look_again(const Signals& signals, bool in_place) {
        std::ostringstream text;
        try {
            if (!broker_) reconnect(signals);
            const Status seen = look(*broker_, settings_);
            if (!report_.json()) text << now() << '\n';
            print(seen, true, report_, text);
            last_ = text.str();
        } catch (const amqp::Error& error) {
            broker_.reset();
            tell(error, text);
            if (in_place) text << "What was seen before:\n\n" << last_;
        }
        return text.str() + (report_.json() || in_place ? "" : "\n");
    }

  private:
    void reconnect(const Signals& signals) {
        const Signals::Interruptible at_once(signals);
        broker_ = connect(settings_, connection_name);
    }

    void tell(const amqp::Error& error, std::ostream& out) const {
        const std::string what = std::string{error.what()} + "; " + amqp::remedy(error.kind());
        if (report_.json()) return print_failure_json(what, true, out);
        out << now() << "\nretryd: " << what << ". It is tried again every 2 s.\n";
    }

    const config::Settings& settings_;
    const Report& report_;
    std::unique_ptr<Broker> broker_;
    std::string last_;
};

int watch(const config::Settings& settings, const Report& report) {
    Watch watch(settings, report);
    // What is not written to the real standard output is not read by somebody at a terminal.
    const bool in_place = &report.out() == &std::cout && isatty(STDOUT_FILENO) == 1 && !report.json();
    Screen screen(in_place, report.out());
    const Signals signals(in_place);
    do {
        screen.show(watch.look_again(signals, in_place));
    } while (report.out().good() && !signals.wait(between_looks));
    return exit_code::fine;
}

}  // namespace

int status(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report report(options, out, err);
    return report.run([&](const config::Settings& settings) {
        const auto broker = connect(settings, connection_name);
        print(look(*broker, settings), false, report, out);
        return exit_code::fine;
    });
}

int watch_status(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report report(options, out, err);
    return report.run([&](const config::Settings& settings) { return watch(settings, report); });
}

}  // namespace retryd::commands
