#include "commands/check.h"

#include <ostream>

#include "commands/exit_code.h"
#include "commands/meaning_json.h"
#include "commands/meaning_text.h"
#include "config/load.h"

namespace retryd::commands {
int check(const CheckOptions& options, std::ostream& out, std::ostream& err) {
    const auto loaded = config::load_file(options.config_path, config::real_surroundings());
    if (const auto* problems = std::get_if<config::Problems>(&loaded)) {
        if (options.json) print_problems_json(*problems, options.config_path, out);
        err << config::format(*problems, options.config_path);
        return exit_code::wrong_configuration;
    }
    const auto& settings = std::get<config::Settings>(loaded);
    if (options.json) {
        print_meaning_json(settings, options.config_path, out);
    } else {
        print_meaning(settings, options.config_path, options.colour, out);
    }
    return exit_code::fine;
}

}  // namespace retryd::commands
