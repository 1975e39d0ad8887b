#include "daemon/configuration.h"

#include <algorithm>
#include <utility>

#include "config/load.h"
#include "core/safe_text.h"

namespace retryd::daemon {

using config::LogLevel;

Configuration::Configuration(std::string path, config::Settings settings, telemetry::Log& log)
    : path_(std::move(path)), log_(log), current_(std::make_shared<const config::Settings>(std::move(settings))) {}

std::shared_ptr<const config::Settings> Configuration::current() const {
    const std::lock_guard lock(mutex_);
    return current_;
}

bool Configuration::reload() {
    auto loaded = config::load_file(path_, config::process_environment());
    if (const auto* problems = std::get_if<config::Problems>(&loaded)) {
        for (const config::Problem& problem : *problems)
            log_.write(LogLevel::error, "reload_problem", config::format(problem, path_));
        log_.write(LogLevel::error, "reload_refused",
                   path_ +
                       " was not reloaded, because of the above: what was in force stays in force. Correct the "
                       "file, try it with `retryd check`, and reload again",
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

std::vector<std::string_view> need_new_connection(const config::Settings& from, const config::Settings& to) {
    std::vector<std::string_view> keys;
    if (from.broker != to.broker) keys.emplace_back("broker");
    if (from.policy.error_exchange != to.policy.error_exchange) keys.emplace_back("errors.exchange");
    if (from.policy.error_queue != to.policy.error_queue) keys.emplace_back("errors.queue");
    if (from.policy.error_queue_type != to.policy.error_queue_type) keys.emplace_back("errors.queue_type");
    if (from.proof_secrets != to.proof_secrets) keys.emplace_back("errors.key_file");
    if (from.policy.catch_all != to.policy.catch_all) keys.emplace_back("parking.catch_all");
    if (from.policy.sources != to.policy.sources) keys.emplace_back("sources");
    const bool prefetch = from.prefetch.messages != to.prefetch.messages;
    if (prefetch && !to.policy.sources.empty()) keys.emplace_back("errors.prefetch");  // each source has its own
    if (from.declare != to.declare) keys.emplace_back("declare");
    return keys;
}

std::vector<std::string> left_behind(const core::Policy& from, const core::Policy& to) {
    std::vector<std::string> notes;
    if (from.error_queue != to.error_queue) {
        notes.push_back(
            "errors.queue was " + core::quoted(from.error_queue) + ": unbind it from exchange " +
            core::quoted(from.error_exchange) +
            " now, else what comes from now on is in both queues, and is retried twice if the old one is "
            "ever consumed again. What was in it before is not taken any more: move it (shovel), or set the "
            "key back once it is unbound, until it is empty");
    }
    for (const core::ErrorBinding& binding : from.error_bindings) {
        if (std::find(to.error_bindings.begin(), to.error_bindings.end(), binding) != to.error_bindings.end()) continue;
        notes.push_back("errors.bind no longer has exchange " + core::quoted(binding.exchange) +
                        ": its binding to queue " + core::quoted(from.error_queue) +
                        " stays, and messages go on coming through it, until it is removed on the broker");
    }
    return notes;
}

}  // namespace retryd::daemon
