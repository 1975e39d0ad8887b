#include "commands/parked/import_mark.h"

#include <filesystem>
#include <fstream>

#include "support/catch.h"
#include "support/folder.h"

// How far an import is, for whoever imports the same file again.

namespace retryd::commands::import_mark_test {
namespace {

struct Scene {
    test::TemporaryFolder folder;
    std::string file = folder.file("messages");
};

}  // namespace

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

}  // namespace retryd::commands::import_mark_test
