#include "commands/doctor.h"

#include <ostream>

#include "amqp/error.h"
#include "amqp/remedy.h"
#include "commands/exit_code.h"
#include "commands/meaning_json.h"
#include "commands/plan_json.h"
#include "config/load.h"

namespace retryd::commands {
namespace {

int examine_and_print(const config::Settings& settings, const DoctorOptions& options, std::ostream& out) {
    const auto broker = connect(settings, "retryd doctor");
    const auto records = records_of(settings, broker->identity().vhost);
    const Examination examination = examine(*broker, records.get(), settings);
    if (options.json) {
        print_examination_json(examination, out);
    } else {
        print_examination(examination, options.colour, out);
    }
    return doctor_exit_code(examination);
}

}  // namespace

int doctor(const DoctorOptions& options, std::ostream& out, std::ostream& err) {
    const auto loaded = config::load_file(options.config_path, config::real_surroundings());
    if (const auto* problems = std::get_if<config::Problems>(&loaded)) {
        if (options.json) print_problems_json(*problems, options.config_path, out);
        err << config::format(*problems, options.config_path);
        return exit_code::wrong_configuration;
    }
    try {
        return examine_and_print(std::get<config::Settings>(loaded), options, out);
    } catch (const amqp::Error& error) {
        const std::string text = std::string{error.what()} + "; " + amqp::remedy(error.kind());
        if (options.json) print_failure_json(text, out);
        err << "retryd: " << text << '\n';
        return exit_code::failed;
    }
}

}  // namespace retryd::commands
