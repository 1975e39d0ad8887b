#include "commands/status/status.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iostream>
#include <ostream>
#include <sstream>
#include <string_view>

#include "amqp/error.h"
#include "amqp/refusal.h"
#include "commands/common/report.h"
#include "commands/status/collect.h"
#include "commands/status/status_output.h"
#include "system/signals.h"

namespace retryd::commands {

namespace {

// The alternate screen, no cursor, and long lines cut instead of wrapped; and all of that back.
constexpr std::string_view enter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view leave = "\x1b[?7h\x1b[?25h\x1b[?1049l";

volatile std::sig_atomic_t screen_is_ours = 0;

/// Only what a signal handler may do.
void end_at_once(int) {
    if (screen_is_ours != 0 && write(STDOUT_FILENO, leave.data(), leave.size()) < 0) _exit(1);
    _exit(0);
}

constexpr const char* connection_name = "retryd status";

Status look(Broker& broker, const config::Settings& settings) {
    return collect_status(broker, settings.policy, ask_daemon(settings));
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
    std::string look_again(const system::Signals& signals, bool in_place) {
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
    void reconnect(const system::Signals& signals) {
        // Connecting to a host that swallows packets takes its time, and there is nothing yet to close in order.
        const system::Signals::Delivered at_once(signals, end_at_once);
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
    screen_is_ours = in_place ? 1 : 0;
    const system::Signals signals{SIGINT, SIGTERM};
    do {
        screen.show(watch.look_again(signals, in_place));
    } while (report.out().good() && signals.wait(between_looks) == 0);
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

namespace {

std::size_t terminal_height() {
    constexpr std::size_t usual = 24;
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : usual;
}

}  // namespace

std::string now() {
    const std::time_t seconds = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts)};
}

Screen::Screen(bool in_place, std::ostream& out) : in_place_(in_place), out_(out) {
    if (in_place_) out_ << enter << std::flush;
}

Screen::~Screen() {
    if (in_place_) out_ << leave << std::flush;
}

void Screen::show(const std::string& text) {
    out_ << (in_place_ ? redrawn(text, terminal_height()) : text) << std::flush;
}

std::string redrawn(const std::string& text, std::size_t height) {
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    const bool fits = lines < height;  // the cursor takes a line, too
    const std::size_t shown = fits ? lines : height - std::min<std::size_t>(height, 2);
    std::string screen = "\x1b[H";
    std::size_t at = 0;
    for (std::size_t line = 0; line < shown; ++line) {
        const std::size_t end = text.find('\n', at);
        screen.append(text, at, end - at).append("\x1b[K\n");
        at = end + 1;
    }
    if (!fits) screen += "… " + std::to_string(lines - shown) + " more lines\x1b[K\n";
    return screen + "\x1b[J";
}

}  // namespace retryd::commands
