#include "daemon/configuration.h"

#include <utility>

#include "config/load.h"

namespace retryd::daemon {

using config::LogLevel;

Configuration::Configuration(std::string path, config::Settings settings, telemetry::Log& log)
    : path_(std::move(path)), log_(log), current_(std::make_shared<const config::Settings>(std::move(settings))) {}

std::shared_ptr<const config::Settings> Configuration::current() const {
    const std::lock_guard lock(mutex_);
    return current_;
}

bool Configuration::reload() {
    auto loaded = config::load_file(path_, config::real_surroundings());
    if (const auto* problems = std::get_if<config::Problems>(&loaded)) {
        for (const config::Problem& problem : *problems)
            log_.write(LogLevel::error, "reload_problem", config::format(problem, path_));
        log_.write(LogLevel::error, "reload_refused",
                   path_ +
                       " was not reloaded, because of the above: what was in force stays in force. Mend the file, "
                       "try it with `retryd check`, and reload again",
                   {{"file", path_}});
        ++refused_;
        return false;
    }
    auto settings = std::make_shared<const config::Settings>(std::get<config::Settings>(std::move(loaded)));
    log_.configure(settings->log);
    ++taken_;
    const std::lock_guard lock(mutex_);
    current_ = std::move(settings);
    return true;
}

}  // namespace retryd::daemon
