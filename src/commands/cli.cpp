#include "commands/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "commands/attach.h"
#include "commands/check/check.h"
#include "commands/common/options.h"
#include "commands/common/report.h"
#include "commands/common/terminal.h"
#include "commands/doctor/doctor.h"
#include "commands/parked/edit.h"
#include "commands/parked/export.h"
#include "commands/parked/import.h"
#include "commands/parked/list_and_show.h"
#include "commands/parked/replay_and_drop.h"
#include "commands/plan/definitions.h"
#include "commands/plan/plan.h"
#include "commands/status/status.h"
#include "commands/waiting.h"
#include "config/problem.h"
#include "core/duration.h"
#include "core/safe_text.h"

namespace retryd::commands {

// ── The command line ────────────────────────────────────────────────────────────────────────────────────────────

namespace {

/// `retryd parked`: the commands for parked messages.
class ParkedCommands {
  public:
    /// The command line keeps references into this object: it must not move until the command line has been read.
    void add_to(CLI::App& app);

    bool parsed() const;
    /// Runs the command that was asked for. `options`: those given before `parked`; `--config` and `--json` after it
    /// take precedence.
    int run(const ReportOptions& options, std::ostream& out, std::ostream& err) const;

  private:
    void add_list(CLI::App& parked);
    void add_show(CLI::App& parked);
    void add_replay(CLI::App& parked);
    void add_drop(CLI::App& parked);
    void add_export(CLI::App& parked);
    void add_import(CLI::App& parked);
    void add_edit(CLI::App& parked);
    void add_report(CLI::App& command);
    void add_selectors(CLI::App& command);
    void add_first(CLI::App& command);
    ParkedOptions options_for(const ReportOptions& before) const;

    CLI::App* parked_ = nullptr;
    CLI::App* list_ = nullptr;
    CLI::App* show_ = nullptr;
    CLI::App* replay_ = nullptr;
    CLI::App* drop_ = nullptr;
    CLI::App* export_ = nullptr;
    CLI::App* import_ = nullptr;
    CLI::App* edit_ = nullptr;

    std::string config_path_;
    bool json_ = false;
    ParkedOptions parked_options_;
    std::vector<std::string> headers_;
    std::string older_than_;
    std::string newer_than_;
    ListOptions list_options_;
    ShowOptions show_options_;
    ExportOptions export_options_;
    ImportOptions import_options_;
    EditOptions edit_options_;
    ParkedRunOptions replay_options_;
    ParkedRunOptions drop_options_;
    std::size_t first_ = 0;
    std::string rate_ = "50";
    std::string stop_after_ = "10";
};

constexpr const char* purpose =
    "The retry sidecar for RabbitMQ: gives rejected messages back to their queue after a delay.";

/// The options of all commands but `parked`, which keeps its own.
struct Options {
    std::string config_path = usual_configuration;
    bool json = false;
    bool schema = false;
    bool prune = false;
    bool apply = false;
    bool permissions = false;
    bool all = false;
    bool definitions = false;
    bool watch = false;
    std::string watch_interval = "2s";
    StatusView status;
};

StatusView::Order order_of(const std::string& word) {
    using Order = StatusView::Order;
    return word == "waiting"  ? Order::waiting
           : word == "parked" ? Order::parked
           : word == "name"   ? Order::name
                              : Order::messages;
}

std::string check_order(const std::string& text) {
    const std::vector<std::string> words{"messages", "waiting", "parked", "name"};
    if (std::find(words.begin(), words.end(), text) != words.end()) return "";
    return core::quoted(text) + " is no order; " + config::expected_one_of(text, words);
}

std::string check_interval(const std::string& text) {
    constexpr core::Milliseconds shortest{500};
    const auto interval = core::parse_duration(text);
    return interval && *interval >= shortest ? "" : core::quoted(text) + " is no duration of 500ms or more: 5s, 1m";
}

/// Accepted before the command and after it.
void add_config(CLI::App& app, Options& options) {
    app.add_option("-c,--config", options.config_path, "The configuration file")
        ->type_name("FILE")
        ->capture_default_str();
}

/// A command that prints a report.
CLI::App* add_report(CLI::App& app, Options& options, const std::string& name, const std::string& what) {
    CLI::App* command = app.add_subcommand(name, what);
    add_config(*command, options);
    command->add_flag("--json", options.json, "Print it as JSON");
    return command;
}

struct Commands {
    CLI::App* run;
    CLI::App* check;
    CLI::App* plan;
    CLI::App* apply;
    CLI::App* attach;
    CLI::App* doctor;
    ParkedCommands parked;
    WaitingCommands waiting;
    CLI::App* status;
};

void add_commands(CLI::App& app, Options& options, Commands& commands) {
    commands.run = app.add_subcommand("run", "Run the daemon, in the foreground");
    add_config(*commands.run, options);
    commands.check = add_report(app, options, "check",
                                "Print what the configuration means, or every problem in it; talks to no broker");
    commands.check->add_flag("--schema", options.schema,
                             "Print the configuration's JSON Schema instead; reads no file");
    commands.plan = add_report(app, options, "plan",
                               "Print what is on the broker, missing, different or left over; changes nothing");
    commands.plan->add_flag("--definitions", options.definitions,
                            "Print the whole topology as a file for rabbitmqctl import_definitions instead");
    commands.apply = add_report(app, options, "apply", "Declare what is missing on the broker, then print the plan");
    commands.apply->add_flag("--prune", options.prune, "Also delete what is left over and empty");
    commands.attach = add_report(app, options, "attach",
                                 "Print the policies that connect the work queues to the error exchange, each with its "
                                 "undo; changes nothing");
    commands.attach->add_flag("--apply", options.apply, "Set them, through the management API");
    commands.doctor = add_report(
        app, options, "doctor", "Find everything that would keep a rejected message from coming back; changes nothing");
    commands.doctor->add_flag("--permissions", options.permissions,
                              "Print the permissions that retryd's user needs instead; talks to no broker");
    commands.doctor->add_flag("--all", options.all, "Name all that a finding is about");
    for (CLI::App* command : {commands.plan, commands.apply, commands.check})
        command->add_flag("--all", options.all, "Show what is in order or alike as well, however much it is");
    commands.parked.add_to(app);
    commands.waiting.add_to(app);
    commands.status =
        add_report(app, options, "status", "Print how many messages wait on each rung and how many are parked");
    commands.status->add_flag("--watch", options.watch, "Repeat until interrupted");
    commands.status->add_option("--interval", options.watch_interval, "How long to wait between two looks of --watch")
        ->type_name("DURATION")
        ->check(CLI::Validator(check_interval, "", ""))
        ->capture_default_str();
    commands.status
        ->add_option("--queue", options.status.match, "These work queues alone; a name or a glob (webhook.*)")
        ->type_name("NAME")
        ->capture_default_str();
    commands.status
        ->add_option_function<std::string>(
            "--sort", [&options](const std::string& word) { options.status.order = order_of(word); },
            "By what waits and is parked together (messages), by either, or by name")
        ->type_name("ORDER")
        ->check(CLI::Validator(check_order, "", ""))
        ->default_str("messages");
}

void set_up(CLI::App& app, const std::string& version, Options& options, Commands& commands) {
    app.set_version_flag("--version", "retryd " + version, "Print the version and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.require_subcommand(1);
    add_config(app, options);
    add_commands(app, options, commands);
}

int run_command(const Commands& commands, const Options& options, const Actions& actions, std::ostream& out,
                std::ostream& err, bool colour) {
    const ReportOptions report{options.config_path, options.json, colour, options.all};
    if (commands.run->parsed()) return actions.run(options.config_path);
    if (commands.parked.parsed()) return commands.parked.run(report, out, err);
    if (commands.waiting.parsed()) return commands.waiting.run(report, out, err);
    if (commands.plan->parsed()) return options.definitions ? definitions(report, out, err) : plan(report, out, err);
    if (commands.apply->parsed()) return apply(report, options.prune, out, err);
    if (commands.attach->parsed()) return attach(report, options.apply, out, err);
    if (commands.doctor->parsed())
        return options.permissions ? print_needed_permissions(report, out, err) : doctor(report, out, err);
    if (commands.status->parsed()) {
        StatusView view = options.status;
        view.interval = *core::parse_duration(options.watch_interval);
        return options.watch ? watch_status(report, view, out, err) : status(report, view, out, err);
    }
    if (commands.check->parsed()) {
        if (!options.schema) return check(report, out, err);
        print_schema(out);
        return exit_code::fine;
    }
    return exit_code::wrong_usage;  // add_commands has one that is not here
}

bool standard_output_is_coloured() {
    const char* no_colour = std::getenv("NO_COLOR");
    return standard_output_is_terminal() && (no_colour == nullptr || *no_colour == '\0');
}

/// For an unknown command CLI11 only says that a command is missing.
std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error) {
    const auto unknown = app.remaining();
    if (!app.get_subcommands().empty() || unknown.empty() || unknown.front().starts_with('-')) return error.what();
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(command->get_name());
    return "there is no command " + unknown.front() + "; " + config::expected_one_of(unknown.front(), names);
}

/// CLI11 reports --help and --version as exceptions that mean success.
int explain(const CLI::App& app, const CLI::ParseError& error, std::ostream& out, std::ostream& err) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error, out, err);
    const auto commands = app.get_subcommands();
    err << "retryd: " << core::safe_lines(what_is_wrong(app, error)) << '\n'
        << "`retryd " << (commands.empty() ? "" : commands.front()->get_name() + " ")
        << "--help` shows what there is.\n";
    return exit_code::wrong_usage;
}

}  // namespace

int run_command_line(int argc, const char* const* argv, const Actions& actions) {
    const int code = run_command_line(argc, argv, actions, std::cout, std::cerr, standard_output_is_coloured());
    std::cout.flush();
    if (std::cout || code != exit_code::fine) return code;
    std::cerr << "retryd: not all of the output could be written: is the disk full?\n";
    return exit_code::failed;
}

int run_command_line(int argc, const char* const* argv, const Actions& actions, std::ostream& out, std::ostream& err,
                     bool colour) {
    CLI::App app{purpose, "retryd"};
    Options options;
    Commands commands{};
    set_up(app, actions.version, options, commands);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return explain(app, error, out, err);
    }
    return run_command(commands, options, actions, out, err, colour);
}

// ── The options of `retryd parked` ──────────────────────────────────────────────────────────────────────────────

void ParkedCommands::add_to(CLI::App& app) {
    parked_ = app.add_subcommand("parked", "List parked messages, send them back or drop them");
    parked_->require_subcommand(1);
    add_list(*parked_);
    add_show(*parked_);
    add_replay(*parked_);
    add_drop(*parked_);
    add_edit(*parked_);
    add_export(*parked_);
    add_import(*parked_);
}

void ParkedCommands::add_report(CLI::App& command) {
    add_report_options(command, config_path_, json_);
}

void ParkedCommands::add_selectors(CLI::App& command) {
    add_report(command);
    add_text(command, "--from", parked_options_.from,
             "This parking queue alone, also one that the configuration does not know", "QUEUE", check_name);
    add_work_queue(command, parked_options_.queue);
    add_text(command, "--reason", parked_options_.reason,
             "Parked for this reason; a name or a glob (attempts-exhausted, reason-*)", "REASON", check_name);
    add_age_and_headers(command, "Parked", {older_than_, newer_than_, headers_});
    add_text(command, "--id", parked_options_.message_id, "With this message-id", "MESSAGE-ID", check_name);
    add_text(command, "--exchange", parked_options_.exchange, "Published to this exchange; a name or a glob", "NAME",
             check_name);
    add_text(command, "--type", parked_options_.type, "With this type, the property; a name or a glob", "TYPE",
             check_name);
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
    add_text(*list_, "--by", list_options_.by,
             "Count by reason, queue, exchange or type instead, or by the values of a header", "HEADER", check_name);
    list_->add_flag("--messages", list_options_.messages,
                    "Also print a line for each message; with --json an object a line, and the counts last");
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
    add_rate(*replay_, rate_);
    replay_->add_flag("--ramp", replay_options_.ramp,
                      "Begin with one message, then 2, 5, 10, 20, 50 and so on, each when those before have had 3 s to "
                      "fail again");
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

void ParkedCommands::add_export(CLI::App& parked) {
    export_ =
        parked.add_subcommand("export", "Write messages into a new file, one a line as JSON, exact. They stay parked");
    add_selectors(*export_);
    add_first(*export_);
    add_text(*export_, "file", export_options_.file, "The file", "FILE", check_file)->required();
}

void ParkedCommands::add_import(CLI::App& parked) {
    import_ = parked.add_subcommand(
        "import",
        "Put the messages of a file that export wrote back into their parking queues, confirmed by the broker");
    add_report(*import_);
    add_text(*import_, "file", import_options_.file, "The file", "FILE", check_file)->required();
    add_text(*import_, "--to", import_options_.to, "All of them into this queue instead", "QUEUE", check_name);
    import_->add_option("--skip", import_options_.skip, "Leave out the first N lines: they were imported before")
        ->type_name("N")
        ->check(CLI::Validator(check_number, "", ""));
    import_->add_flag("--dry-run", import_options_.dry_run, "Read the file, look for the queues and change nothing");
}

void ParkedCommands::add_edit(CLI::App& parked) {
    edit_ = parked.add_subcommand("edit",
                                  "Open one message in your editor (VISUAL, EDITOR, or vi) and send it to its work "
                                  "queue as it comes back from there. Without a change nothing is done");
    add_selectors(*edit_);
    edit_->add_option("--number", edit_options_.number, "Which of the selected, counted from the oldest")
        ->type_name("N")
        ->check(CLI::Validator(check_positive, "", ""))
        ->capture_default_str();
    add_text(*edit_, "--to", edit_options_.to, "Send it to this queue instead of its own", "QUEUE", check_name);
    add_text(*edit_, "--archive", edit_options_.archive,
             "Append the original to this file before anything is sent, as export writes it", "FILE", check_file);
}

bool ParkedCommands::parsed() const {
    return parked_->parsed();
}

ParkedOptions ParkedCommands::options_for(const ReportOptions& before) const {
    ParkedOptions options = parked_options_;
    options.report = before;
    if (!config_path_.empty()) options.report.config_path = config_path_;
    options.report.json = before.json || json_;
    put_age_and_headers(older_than_, newer_than_, headers_, options);
    return options;
}

int ParkedCommands::run(const ReportOptions& before, std::ostream& out, std::ostream& err) const {
    const ParkedOptions options = options_for(before);
    if (list_->parsed()) return parked_list(options, list_options_, out, err);
    if (show_->parsed()) return parked_show(options, show_options_, out, err);
    if (import_->parsed()) return parked_import(options.report, import_options_, out, err);
    if (edit_->parsed()) return parked_edit(options, edit_options_, out, err);
    if (export_->parsed()) {
        ExportOptions export_options = export_options_;
        if (first_ > 0) export_options.first = first_;
        return parked_export(options, export_options, out, err);
    }
    const bool replaying = replay_->parsed();
    ParkedRunOptions run_options = replaying ? replay_options_ : drop_options_;
    if (first_ > 0) run_options.first = first_;
    if (!replaying) {
        run_options.stop_above.reset();
        return parked_drop(options, run_options, out, err);
    }
    run_options.per_second = per_second_of(rate_);
    run_options.stop_above = stop_after_ == "never" ? std::nullopt : whole_number(stop_after_);
    return parked_replay(options, run_options, out, err);
}

// ── The commands as data ────────────────────────────────────────────────────────────────────────────────────────

namespace {

OptionInfo info_of(const CLI::Option& option) {
    OptionInfo info;
    for (const std::string& name : option.get_snames())
        info.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
        info.names.push_back("--" + name);
    if (option.get_expected_max() > 0) info.value = option.get_type_name();
    info.fallback = option.get_default_str();
    info.description = option.get_description();
    return info;
}

void add(CLI::App& app, const std::string& name, std::vector<CommandInfo>& into) {
    CommandInfo info{name, app.get_description(), {}, {}};
    for (const CLI::Option* option : app.get_options()) {
        if (!option->get_positional()) info.options.push_back(info_of(*option));
    }
    const auto below = app.get_subcommands([](const CLI::App*) { return true; });
    for (const CLI::App* command : below)
        info.commands.push_back(command->get_name());
    into.push_back(std::move(info));
    for (CLI::App* command : below)
        add(*command, name.empty() ? command->get_name() : name + ' ' + command->get_name(), into);
}

}  // namespace

std::vector<CommandInfo> commands_of(CLI::App& app) {
    std::vector<CommandInfo> commands;
    add(app, "", commands);
    return commands;
}

std::vector<CommandInfo> all_commands() {
    CLI::App app{purpose, "retryd"};
    Options options;
    Commands commands{};
    set_up(app, "", options, commands);
    return commands_of(app);
}

}  // namespace retryd::commands
