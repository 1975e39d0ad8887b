#include "commands/parked/parked_cli.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>

#include "core/duration.h"

namespace retryd::commands {

namespace {

std::optional<std::size_t> number_of(const std::string& text) {
    std::size_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end || number > 1'000'000'000) return std::nullopt;
    return number;
}

std::string check_duration(const std::string& text) {
    return core::parse_duration(text) ? "" : "'" + text + "' is no duration: 30s, 10m, 2h, 1d, 1h30m";
}

std::string check_header(const std::string& text) {
    return text.find('=') != std::string::npos && text.front() != '=' ? "" : "'" + text + "' is not NAME=VALUE";
}

std::string check_positive(const std::string& text) {
    return number_of(text).value_or(0) > 0 ? "" : "'" + text + "' is no number above 0";
}

std::string check_rate(const std::string& text) {
    return text == "unlimited" || number_of(text).value_or(0) > 0
               ? ""
               : "'" + text + "' is no number above 0, nor unlimited";
}

std::string check_stop(const std::string& text) {
    return text == "never" || number_of(text) ? "" : "'" + text + "' is no number, nor never";
}

std::string check_name(const std::string& text) {
    return text.empty() ? "a name is expected" : "";
}

CLI::Option* add_text(CLI::App& command, const std::string& name, std::string& into, const std::string& what,
                      const char* type, std::string (*check)(const std::string&)) {
    return command.add_option(name, into, what)->type_name(type)->check(CLI::Validator(check, "", ""));
}

std::vector<admin::HeaderMatch> matches_of(const std::vector<std::string>& texts) {
    std::vector<admin::HeaderMatch> matches;
    for (const std::string& text : texts) {
        const std::size_t sign = text.find('=');
        matches.push_back({text.substr(0, sign), text.substr(sign + 1)});
    }
    return matches;
}

}  // namespace

void ParkedCommands::add_to(CLI::App& app) {
    parked_ = app.add_subcommand("parked", "List parked messages, send them back or drop them");
    parked_->require_subcommand(1);
    add_list(*parked_);
    add_show(*parked_);
    add_replay(*parked_);
    add_drop(*parked_);
}

void ParkedCommands::add_selectors(CLI::App& command) {
    command.add_option("-c,--config", config_path_, "The configuration file")->type_name("FILE");
    command.add_flag("--json", json_, "Print it as JSON");
    add_text(command, "--from", parked_options_.from,
             "This parking queue alone, also one that the configuration does not know", "QUEUE", check_name);
    add_text(command, "--queue", parked_options_.queue, "Messages of this work queue; a name or a glob (webhook.*)",
             "NAME", check_name);
    add_text(command, "--reason", parked_options_.reason,
             "Parked for this reason; a name or a glob (attempts-exhausted, reason-*)", "REASON", check_name);
    add_text(command, "--older-than", older_than_, "Parked at least that long ago: 30m, 2h, 1d", "DURATION",
             check_duration);
    add_text(command, "--newer-than", newer_than_, "Parked at most that long ago", "DURATION", check_duration);
    command.add_option("--header", headers_, "With this header; the value may be a glob. Several times: all of them")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false)
        ->check(CLI::Validator(check_header, "", ""));
    command.add_flag("--despite-delivery-limit", parked_options_.despite_delivery_limit,
                     "Look even where RabbitMQ deletes messages that were looked at too often");
}

void ParkedCommands::add_first(CLI::App& command) {
    command.add_option("--first", first_, "Only the N oldest of the selected")
        ->type_name("N")
        ->check(CLI::Validator(check_positive, "", ""));
}

void ParkedCommands::add_list(CLI::App& parked) {
    list_ = parked.add_subcommand("list", "Print how many messages are parked, by work queue, reason and age");
    add_selectors(*list_);
}

void ParkedCommands::add_show(CLI::App& parked) {
    show_ = parked.add_subcommand("show", "Print one message: its history, its headers and its body");
    add_selectors(*show_);
    show_->add_option("--number", show_options_.number, "Which of the selected, counted from the oldest")
        ->type_name("N")
        ->check(CLI::Validator(check_positive, "", ""))
        ->capture_default_str();
    show_->add_flag("--raw", show_options_.raw, "Print the body alone, byte for byte");
}

void ParkedCommands::add_replay(CLI::App& parked) {
    replay_ = parked.add_subcommand("replay",
                                    "Send messages back to their work queue with a fresh count. What is not selected "
                                    "stays where it is. Ctrl-C ends "
                                    "it in order, and the same command goes on with the rest");
    add_selectors(*replay_);
    add_first(*replay_);
    replay_->add_flag("--all", replay_options_.all, "Every message; needed where nothing else selects");
    replay_->add_flag("--dry-run", replay_options_.dry_run, "Print what would be sent and change nothing");
    add_text(*replay_, "--to", replay_options_.to, "Send all of them to this queue instead of their own", "QUEUE",
             check_name);
    add_text(*replay_, "--rate", rate_, "Messages per second, or unlimited", "N", check_rate)->capture_default_str();
    add_text(*replay_, "--stop-after", stop_after_, "Stop when more than N have failed again, or never", "N",
             check_stop)
        ->capture_default_str();
}

void ParkedCommands::add_drop(CLI::App& parked) {
    drop_ = parked.add_subcommand("drop", "Delete messages for good. Asks on a terminal, needs --yes elsewhere");
    add_selectors(*drop_);
    add_first(*drop_);
    drop_->add_flag("--all", drop_options_.all, "Every message; needed where nothing else selects");
    drop_->add_flag("--dry-run", drop_options_.dry_run, "Print what would be dropped and change nothing");
    drop_->add_flag("--yes", drop_options_.yes, "Do not ask");
}

bool ParkedCommands::parsed() const {
    return parked_->parsed();
}

ParkedOptions ParkedCommands::options_for(const ReportOptions& before) const {
    ParkedOptions options = parked_options_;
    options.report = before;
    if (!config_path_.empty()) options.report.config_path = config_path_;
    options.report.json = before.json || json_;
    options.headers = matches_of(headers_);
    if (!older_than_.empty()) options.older_than = core::parse_duration(older_than_);
    if (!newer_than_.empty()) options.newer_than = core::parse_duration(newer_than_);
    return options;
}

int ParkedCommands::run(const ReportOptions& before, std::ostream& out, std::ostream& err) const {
    const ParkedOptions options = options_for(before);
    if (list_->parsed()) return parked_list(options, out, err);
    if (show_->parsed()) return parked_show(options, show_options_, out, err);
    const bool replaying = replay_->parsed();
    ParkedRunOptions run_options = replaying ? replay_options_ : drop_options_;
    if (first_ > 0) run_options.first = first_;
    if (!replaying) {
        run_options.stop_above.reset();
        return parked_drop(options, run_options, out, err);
    }
    run_options.per_second = rate_ == "unlimited" ? 0 : static_cast<int>(*number_of(rate_));
    run_options.stop_above = stop_after_ == "never" ? std::nullopt : number_of(stop_after_);
    return parked_replay(options, run_options, out, err);
}

}  // namespace retryd::commands
