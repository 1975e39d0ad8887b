#include "commands/common/report.h"

#include <ostream>

#include "admin/rabbitmqctl.h"
#include "amqp/error.h"
#include "amqp/refusal.h"
#include "commands/check/check_json.h"
#include "commands/common/json.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "config/addresses.h"
#include "config/load.h"
#include "core/safe_text.h"

namespace retryd::commands {

std::string configuration_option(const std::string& path) {
    return path == usual_configuration ? "" : " -c " + admin::shell_word(path);
}

int Report::run(const std::function<int(const config::Settings&)>& rest) const {
    const auto loaded = config::load_file(options_.config_path, config::process_environment());
    if (const auto* problems = std::get_if<config::Problems>(&loaded)) {
        if (options_.json) print_problems_json(*problems, options_.config_path, out_);
        err_ << config::format(*problems, options_.config_path);
        return exit_code::wrong_configuration;
    }
    try {
        return rest(std::get<config::Settings>(loaded));
    } catch (const amqp::Error& error) {
        return fail(std::string{error.what()} + "; " + amqp::remedy(error.kind()), exit_code::failed);
    }
}

int Report::fail(const std::string& text, int code) const {
    if (options_.json) print_failure_json(text, false, out_);
    err_ << "retryd: " << core::safe_lines(text) << '\n';
    return code;
}

void print_broker_line(const BrokerIdentity& broker, bool colour, std::ostream& out) {
    out << Bold{colour}("RabbitMQ " + core::to_string(broker.version));
    print_line("at " + config::host_and_port(broker.host, broker.port) + ", vhost " + core::safe_name(broker.vhost),
               " ", out);
}

void print_failure_json(const std::string& error, bool one_line, std::ostream& out) {
    const Json failure{{"ok", false}, {"error", error}};
    print_json(failure, out, one_line);
}

}  // namespace retryd::commands
