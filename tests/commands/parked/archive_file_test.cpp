#include "commands/parked/archive_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "commands/parked/import.h"
#include "commands/parked/message_line.h"
#include "support/catch.h"
#include "support/folder.h"

// The file in which messages are kept before they go.

namespace retryd::commands::archive_file_test {
namespace {

const std::string line = R"({"queue":"q","body":"x"})";

std::string text_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

void write(const std::string& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
}

/// Its fault.
std::string add_to(const std::string& name, const std::string& added = line) {
    ArchiveFile file(name);
    file.add(added);
    file.sync();
    return file.fault();
}

/// How many messages an import finds; -1 where it takes none.
int messages_in(const std::string& name) {
    ImportFile file(name);
    MessageLine message;
    int messages = 0;
    while (file.next(message, 0))
        ++messages;
    return file.fault().empty() ? messages : -1;
}

/// No file grows beyond that: as on a full disk.
class FullDisk {
  public:
    explicit FullDisk(rlim_t size) {
        std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit less{size, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &less);
    }
    ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

  private:
    rlimit before_{};
};

/// One more file can be opened, and then none.
class OneMoreFile {
  public:
    OneMoreFile() {
        const int next = dup(0);
        close(next);
        getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit less{static_cast<rlim_t>(next) + 1, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &less);
    }
    ~OneMoreFile() { setrlimit(RLIMIT_NOFILE, &before_); }

  private:
    rlimit before_{};
};

}  // namespace

TEST_CASE("an archive whose name may be gone after a loss of power is none: nothing stays in it, and it says why") {
    const retryd::test::TemporaryFolder folder;
    const std::string name = folder.file("a.ndjson");
    std::string fault;
    {
        const OneMoreFile limit;
        fault = add_to(name);
    }
    CHECK(fault.find(folder.path()) != std::string::npos);
    CHECK(fault.find("Too many open files") != std::string::npos);
    CHECK(text_of(name) == "");
    CHECK(add_to(name) == "");
    CHECK(messages_in(name) == 1);
}

TEST_CASE("an archive grows by whole lines that can be imported, and is its owner's alone") {
    const retryd::test::TemporaryFolder folder;
    const std::string name = folder.file("a.ndjson");
    CHECK(add_to(name) == "");
    CHECK(add_to(name) == "");
    CHECK(text_of(name) == line + "\n" + line + "\n");
    CHECK(messages_in(name) == 2);
    struct stat status {};
    REQUIRE(stat(name.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600);
}

TEST_CASE("a file whose last line has no end and is no message stays as it is") {
    const retryd::test::TemporaryFolder folder;
    const std::string name = folder.file("notes.txt");
    for (const std::string notes : {"one\ntwo", R"({"listen": 80})", R"({"body":"x"})", " ", "x"}) {
        write(name, notes);
        CHECK(add_to(name).find("does not end as an archive does") != std::string::npos);
        CHECK(text_of(name) == notes);
    }
}

TEST_CASE("an archive's last line is known by how every line begins") {
    for (const std::string queue : {"q", "\xff"}) {
        const std::string written = exported_line(queue, {});
        const retryd::test::TemporaryFolder folder;
        write(folder.file("a"), written.substr(0, written.size() - 1));
        CHECK(add_to(folder.file("a")) == "");
        CHECK(messages_in(folder.file("a")) == 1);
    }
}

TEST_CASE("nothing is there before sync") {
    const retryd::test::TemporaryFolder folder;
    const std::string name = folder.file("a.ndjson");
    ArchiveFile file(name);
    file.sync();
    CHECK_FALSE(std::filesystem::exists(name));
    file.add(line);
    CHECK_FALSE(std::filesystem::exists(name));
    file.sync();
    CHECK(messages_in(name) == 1);
    file.sync();
    CHECK(messages_in(name) == 1);
}

TEST_CASE("an archive that somebody moves or deletes while it grows begins anew: no line goes where nobody finds it") {
    const retryd::test::TemporaryFolder folder;
    const std::string name = folder.file("a.ndjson");
    ArchiveFile file(name);
    const auto add = [&] {
        file.add(line);
        file.sync();
        return file.fault();
    };
    REQUIRE(add() == "");
    std::filesystem::rename(name, name + ".1");
    CHECK(add() == "");
    CHECK(messages_in(name) == 1);
    CHECK(messages_in(name + ".1") == 1);
    std::filesystem::remove(name);
    CHECK(add() == "");
    CHECK(messages_in(name) == 1);
    std::filesystem::remove(name);
    std::filesystem::create_symlink(name + ".1", name);
    CHECK(add().find("cannot be written") != std::string::npos);
    CHECK(messages_in(name + ".1") == 1);
}

TEST_CASE("an archive that another process has locked for long is not waited for") {
    const retryd::test::TemporaryFolder folder;
    const std::string name = folder.file("a.ndjson");
    REQUIRE(add_to(name) == "");
    const int other = open(name.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(flock(other, LOCK_EX) == 0);
    CHECK(add_to(name).find("cannot be locked") != std::string::npos);
    CHECK(messages_in(name) == 1);
    close(other);
    CHECK(add_to(name) == "");
}

TEST_CASE("half a line that a killed process has left is taken away, a whole one without an end stays") {
    const retryd::test::TemporaryFolder folder;
    const std::string name = folder.file("a.ndjson");
    for (std::size_t length = 1; length < line.size(); ++length) {
        write(name, line + "\n" + line.substr(0, length));
        CHECK(add_to(name) == "");
        REQUIRE(text_of(name) == line + "\n" + line + "\n");
    }
    write(name, line + "\n" + line);
    CHECK(add_to(name) == "");
    CHECK(messages_in(name) == 3);
    write(name, line.substr(0, 5));
    CHECK(add_to(name) == "");
    CHECK(messages_in(name) == 1);
    const std::string very_long = R"({"queue":"q","body":")" + std::string(300'000, 'x');
    write(name, line + "\n" + very_long);
    CHECK(add_to(name) == "");
    CHECK(text_of(name) == line + "\n" + line + "\n");
}

TEST_CASE("a full disk leaves the archive as it was, and says so") {
    const retryd::test::TemporaryFolder folder;
    const std::string name = folder.file("a.ndjson");
    CHECK(add_to(name) == "");
    const std::string before = text_of(name);
    {
        const FullDisk disk(before.size() + 10);
        const std::string fault = add_to(name);
        CHECK(fault.find("'" + name + "' cannot be written: ") == 0);
    }
    CHECK(text_of(name) == before);
    CHECK(add_to(name) == "");
    CHECK(messages_in(name) == 2);
}

TEST_CASE("an archive is no link, no pipe, no folder, and where it cannot be that is said") {
    const retryd::test::TemporaryFolder folder;
    const std::string name = folder.file("a.ndjson");
    std::filesystem::create_symlink("/etc/passwd", name);
    CHECK(add_to(name) != "");
    std::filesystem::remove(name);
    REQUIRE(mkfifo(name.c_str(), 0600) == 0);
    CHECK(add_to(name).find("no file of yours") != std::string::npos);
    CHECK(add_to(folder.path()) != "");
    CHECK(add_to(folder.file("none/a")).find("No such file") != std::string::npos);
}

TEST_CASE("several write into one archive at once: every line is whole") {
    const retryd::test::TemporaryFolder folder;
    const std::string name = folder.file("a.ndjson");
    const std::string large = R"({"queue":"q","body":")" + std::string(20'000, 'x') + "\"}";
    std::vector<std::thread> writers;
    for (int i = 0; i < 4; ++i)
        writers.emplace_back([&] {
            ArchiveFile file(name);
            for (int n = 0; n < 20; ++n) {
                file.add(large);
                file.sync();
            }
        });
    for (std::thread& writer : writers)
        writer.join();
    CHECK(messages_in(name) == 80);
}

}  // namespace retryd::commands::archive_file_test
