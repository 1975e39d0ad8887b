// A file that cannot be read.
#include "config/load.h"

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
          "/dev/zero: cannot be read (it is larger than 4 MiB); expected a file that retryd may read");
}

}  // namespace retryd::config::load_test
