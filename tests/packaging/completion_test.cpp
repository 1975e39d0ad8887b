// The shell's completion, run by the shell.
#include "files.h"
#include "support/shell.h"

namespace retryd::packaging::completion_test {
namespace {

/// What bash offers in the project's folder behind `words`, the last of which is being typed.
std::string offered(const std::string& words) {
    const std::string script = "cd " + test::shell_word(RETRYD_PROJECT) + "; compopt() { :; }; . " +
                               test::shell_word(RETRYD_PAGES "/retryd.bash") + "; COMP_WORDS=(retryd " + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _retryd; echo \"${COMPREPLY[*]}\"";
    return test::run_shell("bash --norc -c " + test::shell_word(script) + " 2>&1").out;
}

}  // namespace

TEST_CASE("completion: commands, and what is below them") {
    CHECK(offered("par") == "parked\n");
    CHECK(offered("\"\"") == "run check plan apply attach doctor parked waiting status\n");
    CHECK(offered("-c /etc/hosts pl") == "plan\n");
    CHECK(offered("waiting \"\"") == "list send park\n");
    CHECK(offered("parked \"\"") == "list show replay drop edit export import\n");
    CHECK(offered("parked re") == "replay\n");
    CHECK(offered("parked --") == "--help\n");
}

TEST_CASE("completion: options of the command that was typed") {
    CHECK(offered("check --s") == "--schema\n");
    CHECK(offered("parked replay --dr") == "--dry-run\n");
    CHECK(offered("parked replay --first 3 --a") == "--all\n");
    CHECK(offered("parked list --a") == "\n");
    CHECK(offered("apply \"\"") == "--help --config --json --prune --all\n");
}

TEST_CASE("completion: files where one is expected, nothing where only the user knows") {
    CHECK(offered("-c packaging/retryd.y") == "packaging/retryd.yaml\n");
    CHECK(offered("parked list --queue pa") == "\n");
}

}  // namespace retryd::packaging::completion_test
