// What the commands that print a report have in common: they load the configuration, and tell what keeps them from
// going on.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "commands/common/broker.h"
#include "config/settings.h"

namespace retryd::commands {

/// What a command's exit code tells a script (sysexits.h where there is a number for it).
namespace exit_code {

inline constexpr int fine = 0;
inline constexpr int failed = 1;           // the broker refused, or cannot be reached
inline constexpr int something_to_do = 2;  // found by looking
inline constexpr int wrong_usage = 64;
inline constexpr int wrong_configuration = 78;

}  // namespace exit_code

struct ReportOptions {
    std::string config_path;
    bool json = false;
    bool colour = false;
    bool all = false;  // no names are folded away
};

/// Where the configuration is if nothing else is said.
inline constexpr const char* usual_configuration = "/etc/retryd/retryd.yaml";

/// What a command that is printed to be pasted needs to read the same file: ` -c 'my file.yaml'`; empty where that is
/// the usual one.
std::string configuration_option(const std::string& path);

/// Keeps references to its arguments.
class Report {
  public:
    Report(const ReportOptions& options, std::ostream& out, std::ostream& err)
        : options_(options), out_(out), err_(err) {}

    /// Loads the configuration and returns what `rest` makes of it. Returns 78 on a wrong one and 1 on an amqp::Error,
    /// both told: for people on `err`; with `json`, `out` has one object in every case.
    int run(const std::function<int(const config::Settings&)>& rest) const;

    /// Tells that there is nothing to report, and returns `code`.
    int fail(const std::string& text, int code) const;

    bool json() const { return options_.json; }
    bool colour() const { return options_.colour; }
    bool all() const { return options_.all; }
    std::ostream& out() const { return out_; }
    std::ostream& err() const { return err_; }

  private:
    const ReportOptions& options_;
    std::ostream& out_;
    std::ostream& err_;
};

/// `RabbitMQ 4.3.6 at rabbit:5672, vhost shop`
void print_broker_line(const BrokerIdentity& broker, bool colour, std::ostream& out);

/// Where there is no report: `"ok": false` and the reason. On one line where `one_line`.
void print_failure_json(const std::string& error, bool one_line, std::ostream& out);

}  // namespace retryd::commands
