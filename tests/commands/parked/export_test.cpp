#include "commands/parked/export.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "support/catch.h"
#include "support/folder.h"

// The file of `retryd parked export`.

namespace retryd::commands::export_test {
namespace {

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

}  // namespace retryd::commands::export_test
