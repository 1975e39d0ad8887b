// What commands that print a report share: they load the configuration, and say why they cannot continue.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "commands/common/broker.h"
#include "config/settings.h"

namespace retryd::commands {

/// The exit codes (from sysexits.h if it has one).
namespace exit_code {

inline constexpr int fine = 0;
inline constexpr int failed = 1;           // the broker refused, or cannot be reached
inline constexpr int something_to_do = 2;  // something was found that needs attention
inline constexpr int wrong_usage = 64;
inline constexpr int wrong_configuration = 78;

}  // namespace exit_code

struct ReportOptions {
    std::string config_path;
    bool json = false;
    bool colour = false;
    bool all = false;  // all names are shown, however many
};

/// The configuration file if no other is named.
inline constexpr const char* usual_configuration = "/etc/retryd/retryd.yaml";

/// The option that makes a printed command read the same file: ` -c 'my file.yaml'`; empty if it is the usual file.
std::string configuration_option(const std::string& path);

/// Keeps references to its arguments.
class Report {
  public:
    Report(const ReportOptions& options, std::ostream& out, std::ostream& err)
        : options_(options), out_(out), err_(err) {}

    /// Loads the configuration and returns the result of `rest`. Returns 78 for a wrong configuration and 1 for an
    /// amqp::Error; both are reported on `err`, and with `json` `out` has one object in every case.
    int run(const std::function<int(const config::Settings&)>& rest) const;

    /// Reports that it failed, and returns `code`.
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

/// Prints `"ok": false` and the reason. On a single line if `one_line`.
void print_failure_json(const std::string& error, bool one_line, std::ostream& out);

}  // namespace retryd::commands
