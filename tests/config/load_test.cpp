// A file that cannot be read.
#include "config/load.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "loading.h"

namespace retryd::config::load_test {

TEST_CASE("a file that cannot be read is a problem without a place") {
    const auto problem = [](const std::string& path) {
        const auto loaded = load_file(path, process_environment());
        return format(std::get<Problems>(loaded).at(0), path);
    };
    CHECK(problem("/nowhere/retryd.yaml") ==
          "/nowhere/retryd.yaml: cannot be read (No such file or directory); expected a file that retryd may read");
    CHECK(problem("/") == "/: cannot be read (Is a directory); expected a file that retryd may read");
    CHECK(problem("/dev/zero") ==
          "/dev/zero: cannot be read (it is a pipe or a device, not a file); expected a file that retryd may read");
}

TEST_CASE("a pipe that nobody writes to is refused at once, and so is a file larger than any configuration") {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("retryd-load-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    const std::string pipe = folder / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    const std::string large = folder / "large";
    std::ofstream{large}.put('#');
    std::filesystem::resize_file(large, 4 * 1024 * 1024 + 1);
    std::string error;
    CHECK_FALSE(process_environment().read_file(pipe, error));
    CHECK(error == "it is a pipe or a device, not a file");
    CHECK_FALSE(process_environment().read_file(large, error));
    CHECK(error == "it is larger than 4 MiB");
    std::filesystem::remove_all(folder);
}

}  // namespace retryd::config::load_test
