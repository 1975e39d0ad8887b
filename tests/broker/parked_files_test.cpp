// `retryd parked export` and `import`: what is parked goes into a file and comes back from it, exact.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "every_type.h"
#include "support/broker_user.h"
#include "support/catch.h"
#include "support/parked_scene.h"
#include "support/shell.h"
#include "support/tcp_relay.h"
#include "support/unsafe_text.h"

using namespace retryd::test;

namespace {

std::string text_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

class FilesScene : public ParkedScene {
  public:
    FilesScene() : file(daemon.config_file() + ".ndjson") { remove_files(); }
    ~FilesScene() { remove_files(); }

    std::string file;

  private:
    void remove_files() const {
        for (const char* end : {"", "2", ".part", ".imported"})
            std::filesystem::remove(file + end);
    }
};

}  // namespace

TEST_CASE("parked export, drop and import: every message comes back exact and in order", "[one-version]") {
    FilesScene s;
    s.park(20);
    s.park_one(std::string("\0\1\xff binary\n", 12), one_of_each("own-"));
    s.park_one("", {{"twice", longstr("a")}, {"twice", longstr("\xff")}});
    REQUIRE(s.await_depth(s.parking, 22));
    CHECK(s.parked("export " + s.file).says({"22 messages exported"}));
    REQUIRE(s.await_depth(s.parking, 22));
    REQUIRE(s.parked("drop --all --yes").code == 0);
    REQUIRE(s.await_depth(s.parking, 0));
    const CommandResult imported = s.parked("import " + s.file);
    CHECK(imported.code == 0);
    CHECK(imported.says({"22 of 22 messages imported"}));
    REQUIRE(s.await_depth(s.parking, 22));
    CHECK(s.parked("export " + s.file + "2").code == 0);
    const std::string first = text_of(s.file);
    CHECK(first.size() > 22 * 100);
    CHECK(first == text_of(s.file + "2"));
    CHECK(s.parked("replay --header third=yes --rate unlimited").code == 0);  // their proof still counts
}

TEST_CASE("parked export never replaces a file, and writes what is selected alone", "[one-version]") {
    FilesScene s;
    s.park(9);
    CHECK(s.parked("export " + s.file + " --header third=yes --first 2").says({"2 messages exported"}));
    CHECK(lines_with(text_of(s.file), {"\"third\""}) == 2);
    const std::string before = text_of(s.file);
    const CommandResult again = s.parked("export " + s.file);
    CHECK(again.code == 1);
    CHECK(again.err.find("is there already") != std::string::npos);
    CHECK(text_of(s.file) == before);
    CHECK(s.parked("export /nowhere/at/all").err.find("No such file") != std::string::npos);
}

TEST_CASE("parked import of a file that is wrong anywhere changes nothing, and the line is named", "[one-version]") {
    FilesScene s;
    s.park(5);
    REQUIRE(s.parked("export " + s.file).code == 0);
    REQUIRE(s.parked("drop --all --yes").code == 0);
    const std::string whole = text_of(s.file);
    const auto refused = [&](const std::string& text, const std::string& why) {
        std::ofstream(s.file, std::ios::binary) << text;
        for (const char* command : {"import --dry-run ", "import "}) {
            const CommandResult result = s.parked(command + s.file);
            INFO(result.err);
            CHECK(result.code == 1);
            CHECK(result.err.find(why) != std::string::npos);
            CHECK(result.err.find("Nothing was imported") != std::string::npos);
        }
    };
    refused(whole.substr(0, whole.size() - 10), "line 5: it is no message");
    refused(whole + "password=secret\x1b[2J\n", "line 6: it is no message");
    refused(std::string(2'000'000, '\0'), "line 1: it is no message");
    CHECK(s.parked("import /dev/null").err.find("no regular file") != std::string::npos);
    CHECK(s.parked("import " + s.file + ".none").err.find("No such file") != std::string::npos);
    CHECK(s.parked("import -").code == 64);
    CHECK(s.depth(s.parking) == 0);
    std::ofstream(s.file, std::ios::binary) << whole;
    CHECK(s.parked("import " + s.file).says({"5 of 5 messages imported"}));
    CHECK(s.drain(s.parking, 5) == std::vector<std::string>{"0", "1", "2", "3", "4"});
}

TEST_CASE("parked import into a queue that is not there: told before anything is sent", "[one-version]") {
    FilesScene s;
    s.park(3);
    REQUIRE(s.parked("export " + s.file).code == 0);
    const std::string none = s.queue_name("none");
    for (const char* command : {"import --dry-run --to ", "import --to "}) {
        const CommandResult result = s.parked(command + none + ' ' + s.file);
        CHECK(result.code == 1);
        CHECK(result.err.find("3 messages would go, does not exist") != std::string::npos);
    }
    CHECK(s.parked("import --dry-run " + s.file).says({"3 messages would go into", s.parking}));
    CHECK(s.parked("import --skip 2 " + s.file).says({"1 of 1 message imported"}));
    CHECK(s.parked("import --skip 4 " + s.file).err.find("no more than 3 lines") != std::string::npos);
    CHECK(s.drain(s.parking, 4) == std::vector<std::string>{"0", "1", "2", "2"});
}

TEST_CASE("parked import twice: every message twice, and nothing else", "[one-version]") {
    FilesScene s;
    s.park(3);
    REQUIRE(s.parked("export " + s.file).code == 0);
    REQUIRE(s.parked("import " + s.file).code == 0);
    CHECK(s.drain(s.parking, 6) == std::vector<std::string>{"0", "1", "2", "0", "1", "2"});
}

TEST_CASE("parked import into a full queue stops, says how far it is, and goes on from there", "[one-version][night]") {
    FilesScene s;
    s.park(1'000);
    REQUIRE(s.parked("export " + s.file).code == 0);
    REQUIRE(s.parked("drop --all --yes").code == 0);
    const std::string other = s.queue_name("little");
    s.client.declare_queue(other, {{"x-max-length", int32(100)}, {"x-overflow", longstr("reject-publish")}});
    const CommandResult full = s.parked("import --to " + other + ' ' + s.file);
    INFO(full.out << full.err);
    CHECK(full.code == 1);
    REQUIRE(full.says({"Stopped: the message of line 101 was refused by its queue", "--skip 100"}));
    CHECK(s.drain(other, 100).size() == 100);
    CHECK(s.parked("import --skip 100 " + s.file).says({"900 of 900 messages imported"}));
    CHECK(s.drain(s.parking, 900).front() == "100");
}

TEST_CASE("parked import that is interrupted or killed anywhere loses nothing, and export leaves no half of a file",
          "[slow][one-version]") {
    constexpr int messages = 600;
    FilesScene s;
    s.park(messages);
    for (const int signal : {SIGTERM, SIGKILL}) {
        std::filesystem::remove(s.file);
        for (int step = 0; step < 4; ++step) {
            const auto exporting = s.start_parked({"export", s.file});
            REQUIRE(await([&] { return std::filesystem::exists(s.file + ".part") || !exporting->running(); }));
            exporting->wait(milliseconds(50 * step));
            exporting->signal(signal);
            REQUIRE(exporting->wait(patience));
            if (std::filesystem::exists(s.file)) {
                CHECK(lines_with(text_of(s.file), {"\"queue\""}) == messages);
                std::filesystem::remove(s.file);
            } else if (signal == SIGTERM) {
                CHECK_FALSE(std::filesystem::exists(s.file + ".part"));
            }
        }
    }
    REQUIRE(s.await_depth(s.parking, messages));
    REQUIRE(s.parked("export " + s.file).code == 0);
    CHECK(lines_with(text_of(s.file), {"\"queue\""}) == messages);
    REQUIRE(s.parked("drop --all --yes").code == 0);
    std::size_t settled = 0;
    for (int round = 0; settled < messages; ++round) {
        REQUIRE(round < 100);
        std::vector<std::string> arguments{"import", s.file, "--json"};
        if (settled > 0) arguments.insert(arguments.end(), {"--skip", std::to_string(settled)});
        const std::uint32_t before = s.depth(s.parking);
        const auto importing = s.start_parked(arguments);
        await([&] { return s.depth(s.parking) > before || !importing->running(); }, patience);
        importing->signal(SIGTERM);
        REQUIRE(importing->wait(patience));
        const auto told = nlohmann::json::parse(s.output(), nullptr, false);
        if (told.is_discarded()) continue;              // before it took signals
        if (!told.contains("settled_lines")) continue;  // before it sent anything
        settled = std::max<std::size_t>(settled, told["settled_lines"].get<std::size_t>());
        if (told["ok"].get<bool>()) settled = messages;
    }
    std::set<std::string> distinct;
    for (const std::string& body : s.drain(s.parking, messages))
        distinct.insert(body);
    CHECK(distinct.size() == messages);
}

TEST_CASE("parked import that was killed: the same command says where to go on, and there nothing is lost",
          "[flood][slow][night][one-version]") {
    constexpr int messages = 2'500;
    FilesScene s;
    s.park(messages);
    REQUIRE(s.parked("export " + s.file).code == 0);
    REQUIRE(s.parked("drop --all --yes").code == 0);
    const auto importing = s.start_parked({"import", s.file});
    REQUIRE(await([&] { return s.depth(s.parking) > 1'200; }, patience, milliseconds(10)));
    importing->signal(SIGKILL);
    REQUIRE(importing->wait(patience) == 128 + SIGKILL);
    // The broker still reads what it was sent.
    std::uint32_t there = 0;
    const auto no_more_come = [&] {
        const std::uint32_t now = s.depth(s.parking);
        return std::exchange(there, now) == now;
    };
    REQUIRE(await(no_more_come, patience, seconds(1)));
    const CommandResult again = s.parked("import " + s.file);
    INFO(again.err);
    CHECK(again.code == 1);
    CHECK(again.err.find("Nothing was imported") != std::string::npos);
    CHECK(s.depth(s.parking) == there);
    const std::size_t at = again.err.find("--skip ");
    REQUIRE(at != std::string::npos);
    const std::string lines = std::to_string(std::stoul(again.err.substr(at + 7)));
    CHECK(s.parked("import --skip " + lines + " " + s.file).code == 0);
    const auto found = s.drain(s.parking, messages);
    CHECK(std::set<std::string>(found.begin(), found.end()).size() == messages);
    CHECK(found.size() <= messages + 1'000);
    CHECK_FALSE(std::filesystem::exists(s.file + ".imported"));
}

TEST_CASE("parked import whose connection is lost says how far it is", "[one-version]") {
    FilesScene s;
    s.park(600);
    REQUIRE(s.parked("export " + s.file).code == 0);
    TcpRelay relay(broker_address());
    relay.open();
    s.config.uris = {uri_of(relay.address())};
    const auto importing = s.start_parked({"import", s.file});
    REQUIRE(await([&] { return s.depth(s.parking) > 600 || !importing->running(); }, patience));
    relay.cut();
    REQUIRE(importing->wait(patience));
    const std::string said = s.output();
    INFO(said);
    if (said.find("600 of 600") == std::string::npos) {
        CHECK(said.find("of 600 messages imported") != std::string::npos);
        CHECK(said.find("Stopped: ") != std::string::npos);
    }
}

TEST_CASE("parked export and import by a user without permissions: refused in words, and nothing changes",
          "[one-version]") {
    FilesScene s;
    s.park(3);
    REQUIRE(s.parked("export " + s.file).code == 0);
    const BrokerUser nobody(s.queue_name("nobody"));
    s.config.uris = {nobody.uri()};
    const CommandResult exported = s.parked("export " + s.file + "2");
    INFO(exported.out << exported.err);
    CHECK(exported.code == 1);
    CHECK_FALSE(std::filesystem::exists(s.file + "2"));
    const CommandResult imported = s.parked("import " + s.file);
    INFO(imported.out << imported.err);
    CHECK(imported.code == 1);
    CHECK((imported.out + imported.err).find("ACCESS_REFUSED") != std::string::npos);
    CHECK(s.await_depth(s.parking, 3));
}

TEST_CASE("parked list: what hostile messages hold is safe by --by and --messages, and can be selected",
          "[one-version]") {
    ParkedScene s;
    const std::string evil = "\x1b]0;x\a'; rm -rf / #\u202e";
    s.park_one("a",
               {{"own", longstr(evil)}, {"a=b", longstr("c")}, {"f", Value{'d', 1.5}}, {"\x1b[31m", longstr("r")}});
    s.park_one("b", {{"own", longstr("plain")}});
    for (const char* command : {"list --by own", "list --by own --json", "list --messages", "list --by a=b",
                                "list --by \"$(printf '\\033[31m')\""}) {
        const CommandResult result = s.parked(command);
        INFO(result.out);
        CHECK(result.code == 0);
        CHECK_FALSE(unsafe_part(result.out));
    }
    const CommandResult by = s.parked("list --by own");
    const std::size_t at = by.out.find("--header $'");
    REQUIRE(at != std::string::npos);
    const std::string option = by.out.substr(at, by.out.find('\n', at) - at);
    const ShellResult selected =
        run_shell("bash -c " + shell_word(shell_word(retryd_binary()) + " parked show --raw -c " +
                                          s.daemon.config_file() + ' ' + option));
    CHECK(selected.out == "a");
    CHECK_FALSE(s.parked("list --by a=b").says({"--header"}));
    CHECK_FALSE(s.parked("list --by f").says({"--header"}));
}

TEST_CASE("parked list --messages whose reader goes ends in order", "[night][one-version]") {
    ParkedScene s;
    s.park(2'000);
    const ShellResult piped = run_shell(shell_word(retryd_binary()) + " parked list --messages -c " +
                                        s.daemon.config_file() + " | head -n 1");
    CHECK(piped.out.find("--number 1 ") != std::string::npos);
    CHECK(s.await_depth(s.parking, 2'000));
    CHECK(s.drain(s.parking, 2'000).front() == "0");
}

TEST_CASE("parked list --by, --messages, and what they print selects", "[one-version]") {
    ParkedScene s;
    s.park(9);
    s.park_one("late", {{"third", longstr("it's")}}, "too-old");
    CHECK(s.parked("list --by third").says({"no", " 6 ", "--header 'third=no'"}));
    CHECK(s.parked("list --by reason").says({"too-old", " 1 ", "--reason 'too-old'"}));
    CHECK(s.parked("list --by exchange").says({"shop", " 10 ", "--exchange 'shop'"}));
    CHECK(s.parked("list --by type").says({"(none)", " 10 "}));
    CHECK(s.parked("list --by queue --json").says({"\"value\": \"" + s.work + "\""}));
    CHECK(s.parked("list --messages").says({"--number 10", s.work, "too-old", "4 bytes"}));
    CHECK(s.parked("show --raw --number 10").out == "late");
    CHECK(s.parked("list --exchange shop --type nothing").says({"10 messages, 0 selected"}));
    CHECK(s.parked("show --id nothing").code == 1);
}
