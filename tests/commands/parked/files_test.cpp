#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "commands/parked/export_file.h"
#include "commands/parked/import_file.h"
#include "support/catch.h"
#include "support/folder.h"

// The files of `retryd parked export` and `import`.

namespace retryd::commands::files_test {
namespace {

const std::string whole = R"({"queue":"q","body":"x"})";

std::string text_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

void write(const std::string& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// How many messages are read, and the fault.
struct ReadThrough {
    explicit ReadThrough(const std::string& name, std::size_t skip = 0) {
        ImportFile file(name);
        MessageLine line;
        while (file.next(line, skip))
            ++messages;
        lines = file.lines();
        fault = file.fault();
    }

    std::size_t messages = 0;
    std::size_t lines = 0;
    std::string fault;
};

}  // namespace

TEST_CASE("an export has its name once it is finished, not before, and is its owner's alone") {
    const test::TemporaryFolder folder;
    const std::string name = folder.file("parked.ndjson");
    {
        ExportFile file(name);
        file.add("one");
        REQUIRE(file.size() == 4);
        file.add("two");
        file.cut_to(4);
        file.add("three");
        CHECK_FALSE(std::filesystem::exists(name));
        file.finish();
        CHECK(file.fault().empty());
    }
    CHECK(text_of(name) == "one\nthree\n");
    CHECK_FALSE(std::filesystem::exists(name + ".part"));
    CHECK((std::filesystem::status(name).permissions() & std::filesystem::perms::all) ==
          (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE("an export that is not finished leaves nothing, and replaces nothing") {
    const test::TemporaryFolder folder;
    const std::string name = folder.file("parked.ndjson");
    ExportFile(name).add("one");
    CHECK(std::filesystem::is_empty(folder.path()));

    ExportFile late(name);
    write(name, "somebody was faster");
    late.finish();
    CHECK(has(late.fault(), "File exists"));
    CHECK(text_of(name) == "somebody was faster");
    CHECK(has(ExportFile(name).fault(), "is there already"));
}

TEST_CASE("what a killed export has left is written anew; what belongs to others is not touched") {
    const test::TemporaryFolder folder;
    const std::string name = folder.file("parked.ndjson");
    const std::string part = name + ".part";
    write(part, std::string(5'000, 'x'));
    ::chmod(part.c_str(), 0666);
    {
        ExportFile file(name);
        file.add("one");
        CHECK(has(ExportFile(name).fault(), "another export"));
        file.finish();
        CHECK(file.fault().empty());
    }
    CHECK(text_of(name) == "one\n");
    std::filesystem::remove(name);

    const std::string other = folder.file("other");
    write(other, "precious");
    std::filesystem::create_symlink(other, part);
    CHECK_FALSE(ExportFile(name).fault().empty());
    std::filesystem::remove(part);
    std::filesystem::create_hard_link(other, part);
    CHECK(has(ExportFile(name).fault(), "not yours alone"));
    std::filesystem::remove(part);
    CHECK(text_of(other) == "precious");

    std::filesystem::create_symlink(folder.file("nowhere"), name);
    CHECK(has(ExportFile(name).fault(), "is there already"));
    std::filesystem::remove(name);
    REQUIRE(::mkfifo(part.c_str(), 0600) == 0);
    CHECK_FALSE(ExportFile(name).fault().empty());
    CHECK(std::filesystem::exists(part));
}

TEST_CASE("a full disk is a fault of the export") {
    const test::TemporaryFolder folder;
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit little = before;
    little.rlim_cur = 3'000'000;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
    {
        ExportFile file(folder.file("parked.ndjson"));
        for (int i = 0; i < 10 && file.fault().empty(); ++i)
            file.add(std::string(500'000, 'x'));
        file.finish();
        CHECK(has(file.fault(), "File too large"));
        file.add("more");
        file.cut_to(0);
        file.finish();
        CHECK(has(file.fault(), "File too large"));
    }
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("the lines of an import are counted, empty ones too, and may end in any way") {
    const test::TemporaryFolder folder;
    const std::string name = folder.file("in");
    write(name, whole + "\r\n\n" + whole + "\n  \n" + whole);
    const ReadThrough read(name);
    CHECK(read.fault.empty());
    CHECK(read.messages == 3);
    CHECK(read.lines == 5);
    const ReadThrough rest(name, 3);
    CHECK(rest.messages == 1);
    CHECK(rest.lines == 5);
}

TEST_CASE("lines longer than what is read at once are read whole") {
    const test::TemporaryFolder folder;
    const std::string name = folder.file("in");
    const std::string large = R"({"queue":"q","body":")" + std::string(3'000'000, 'x') + "\"}";
    write(name, whole + '\n' + large + '\n' + whole + '\n');
    ImportFile file(name);
    for (int round = 0; round < 2; ++round) {
        MessageLine line;
        REQUIRE(file.next(line, 0));
        REQUIRE(file.next(line, 0));
        CHECK(line.message().body.size() == 3'000'000);
        REQUIRE(file.next(line, 0));
        CHECK(line.message().body == "x");
        CHECK_FALSE(file.next(line, 0));
        CHECK(file.lines() == 3);
        CHECK(file.fault().empty());
        file.begin_again();
    }
}

TEST_CASE("a file that is no export: the line is named, and no more is read than needs be") {
    const test::TemporaryFolder folder;
    const std::string name = folder.file("in");
    const auto fault_of = [&](const std::string& text) {
        write(name, text);
        return ReadThrough(name).fault;
    };
    CHECK(has(fault_of(whole + "\nroot:x:0:0\n"), "line 2: it is no message"));
    CHECK(has(fault_of(whole + '\n' + whole.substr(0, 10)), "line 2: it is no message"));
    CHECK(has(fault_of("{\n  \"queue\": \"q\"\n}\n"), "line 1"));
    CHECK(has(fault_of(whole + '\n' + std::string(5'000'000, '\0')), "line 2"));
    CHECK(has(fault_of("[" + whole + "]"), "line 1"));
    CHECK(fault_of("").empty());
    CHECK(has(ReadThrough(folder.path()).fault, "no regular file"));
    CHECK(has(ReadThrough("/dev/zero").fault, "no regular file"));
    CHECK(has(ReadThrough(folder.file("none")).fault, "No such file"));
    const std::string pipe = folder.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(has(ReadThrough(pipe).fault, "no regular file"));
}

}  // namespace retryd::commands::files_test
