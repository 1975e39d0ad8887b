#include "commands/command_line.h"

namespace retryd::commands::cli_test {

TEST_CASE("run is started with the configuration that was named, before or behind the command") {
    CHECK(run({"run", "-c", "a.yaml"}).runs == std::vector<std::string>{"a.yaml"});
    CHECK(run({"run", "--config", "a.yaml"}).runs == std::vector<std::string>{"a.yaml"});
    CHECK(run({"-c", "a.yaml", "run"}).runs == std::vector<std::string>{"a.yaml"});
    CHECK(run({"run", "--config=a.yaml"}).runs == std::vector<std::string>{"a.yaml"});
}

TEST_CASE("run without a configuration takes the default, and its exit code is handed on") {
    const Outcome outcome = run({"run"});
    CHECK(outcome.runs == std::vector<std::string>{"/etc/retryd/retryd.yaml"});
    CHECK(outcome.code == 42);
}

TEST_CASE("the version is printed") {
    const Outcome outcome = run({"--version"});
    CHECK(outcome.code == 0);
    CHECK(outcome.out == "retryd 1.2.3\n");
    CHECK(outcome.err.empty());
}

TEST_CASE("help names the commands and their options") {
    const Outcome outcome = run({"--help"});
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    for (const char* part : {"run", "check", "plan", "apply", "attach", "doctor", "status", "-c,--config FILE",
                             "/etc/retryd/retryd.yaml", "--version"}) {
        CAPTURE(part);
        CHECK(outcome.out.find(part) != std::string::npos);
    }
    for (const char* command : {"check", "plan", "apply", "attach", "doctor", "status"}) {
        CAPTURE(command);
        CHECK(run({command, "--help"}).out.find("--json") != std::string::npos);
    }
    CHECK(run({"check", "--help"}).out.find("--schema") != std::string::npos);
    CHECK(run({"apply", "--help"}).out.find("--prune") != std::string::npos);
    CHECK(run({"attach", "--help"}).out.find("--apply") != std::string::npos);
    CHECK(run({"doctor", "--help"}).out.find("--permissions") != std::string::npos);
    CHECK(run({"plan", "--help"}).out.find("--prune") == std::string::npos);
    CHECK(run({"run", "--help"}).out.find("--json") == std::string::npos);
}

TEST_CASE("wrong usage ends with 64 and says where to look") {
    const auto usage = [](std::vector<const char*> arguments) {
        const Outcome outcome = run(std::move(arguments));
        CHECK(outcome.code == 64);
        CHECK(outcome.out.empty());
        CHECK(outcome.runs.empty());
        return outcome.err;
    };
    CHECK(usage({}) == "retryd: A subcommand is required\n`retryd --help` shows what there is.\n");
    CHECK(usage({"chekc"}) ==
          "retryd: there is no command chekc; did you mean check?\n`retryd --help` shows what there is.\n");
    CHECK(usage({"stop"}) ==
          "retryd: there is no command stop; expected one of run, check, plan, apply, attach, doctor, parked, waiting, "
          "status\n"
          "`retryd --help` shows what there is.\n");
    CHECK(usage({"run", "--json"}) ==
          "retryd: The following argument was not expected: --json\n`retryd run --help` shows what there is.\n");
    CHECK(usage({"check", "retryd.yaml"}).ends_with("\n`retryd check --help` shows what there is.\n"));
    CHECK(usage({"run", "check"}).starts_with("retryd: "));
    CHECK(usage({"run", "-c"}).starts_with("retryd: "));
}

}  // namespace retryd::commands::cli_test
