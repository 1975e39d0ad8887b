#include "commands/parked/import.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.h"
#include "support/folder.h"

// The file of `retryd parked import`, and how far an import of it is, for whoever imports it again.

namespace retryd::commands::import_test {
namespace {

const std::string whole = R"({"queue":"q","body":"x"})";

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

struct Scene {
    test::TemporaryFolder folder;
    std::string file = folder.file("messages");
};

}  // namespace

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

TEST_CASE("an import that is killed leaves how far it was, 500 lines less at most; one that is done leaves nothing") {
    Scene s;
    {
        ImportMark mark(s.file);
        CHECK_FALSE(mark.left());
        mark.settled(499);
        CHECK_FALSE(mark.left());
        for (std::size_t lines = 500; lines <= 1'234; ++lines)
            mark.settled(lines);
    }
    ImportMark mark(s.file);
    CHECK(mark.left() == std::size_t{1'000});
    mark.settled(1'500);
    mark.end(1'501);
    CHECK(ImportMark(s.file).left() == std::size_t{1'501});
    mark.remove();
    CHECK_FALSE(std::filesystem::exists(mark.name()));
}

TEST_CASE("an import that ends before anything is settled leaves nothing") {
    Scene s;
    ImportMark mark(s.file);
    mark.end(0);
    CHECK_FALSE(std::filesystem::exists(mark.name()));
    CHECK(mark.fault().empty());
}

TEST_CASE("where the mark cannot be written, or is no number, that is no reason to stop") {
    Scene s;
    std::ofstream(s.file + ".imported") << "nonsense";
    CHECK_FALSE(ImportMark(s.file).left());
    ImportMark nowhere(s.file + "/none/messages");
    nowhere.settled(1'000);
    CHECK(nowhere.fault().find("cannot be written") != std::string::npos);
}

}  // namespace retryd::commands::import_test
