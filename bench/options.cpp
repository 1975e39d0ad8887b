#include "options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

namespace retryd::bench {

namespace {

void add_common(CLI::App& command, Options& options) {
    command.add_option("--rounds", options.rounds, "How often each is measured")->check(CLI::Range(1, 100));
    command.add_option("--messages", options.messages, "In a backlog, at most")->check(CLI::Range(1000, 10'000'000));
    command.add_flag("--quick", options.quick, "A couple of minutes, for a first look");
    command.add_option("--out", options.out, "The JSON file to write")->required();
}

void hurry(Options& options) {
    options.rounds = 1;
    options.messages = std::min(options.messages, 10'000U);
    options.probes = std::min(options.probes, 500U);
    if (options.command != Options::Command::compare) return;
    options.sizes = {1024};
    options.queues = {1};
}

}  // namespace

Options read_options(int argc, char* argv[]) {
    Options options;
    CLI::App app("Measures retryd against what else carries rejected messages to a rung");
    app.require_subcommand(1);
    CLI::App* compare = app.add_subcommand("compare", "Side by side, in turn");
    add_common(*compare, options);
    compare->add_option("--sizes", options.sizes, "Of bodies, in bytes: 100,1024,65536")->delimiter(',');
    compare->add_option("--queues", options.queues, "Numbers of work queues: 1,20")->delimiter(',');
    compare->add_option("--contenders", options.contenders, "ceiling,retryd,shovel,amqplib,pika")->delimiter(',');
    compare->add_option("--probes", options.probes, "Messages whose way to the rung is timed");
    CLI::App* growth = app.add_subcommand("growth", "How retryd's own cost grows");
    add_common(*growth, options);
    growth->add_option("--parts", options.parts, "queues,rungs,backlog,daemons,headers")->delimiter(',');
    CLI::App* report = app.add_subcommand("report", "Tables and plots' data out of results");
    report->add_option("--folder", options.folder, "Where they are written")->required();
    report->add_option("results", options.results, "JSON files of compare and growth")->required();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        constexpr int usage = 64;
        std::exit(app.exit(error) == 0 ? 0 : usage);
    }
    if (growth->parsed()) options.command = Options::Command::growth;
    if (report->parsed()) options.command = Options::Command::report;
    if (options.quick) hurry(options);
    return options;
}

std::uint32_t messages_of(const Options& options, std::size_t body_bytes) {
    constexpr std::size_t volume = 2000 * std::size_t{65536};
    return static_cast<std::uint32_t>(std::min<std::size_t>(options.messages, volume / body_bytes));
}

}  // namespace retryd::bench
