// Measures on the broker that the environment names (scripts/broker), or makes tables of what was measured. To be run
// by bench/run.
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "compare.h"
#include "growth.h"
#include "machine.h"
#include "report.h"
#include "support/environment.h"

namespace {

using namespace retryd;

/// A folder for configurations and logs, which stays where something fails: the error names files in it.
std::string make_folder() {
    std::string folder = (std::filesystem::temp_directory_path() / "retryd-bench-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    return folder;
}

/// Whether everything could be measured.
bool measure(const bench::Options& options) {
    const std::string folder = make_folder();
    const bool comparing = options.command == bench::Options::Command::compare;
    nlohmann::json results = comparing ? bench::compare(options, folder) : bench::growth(options, folder);
    results["machine"] = bench::describe_machine(test::Client(test::broker_address()).broker_version());
    results["rounds"] = options.rounds;
    results["quick"] = options.quick;
    std::ofstream file(options.out);
    file << results.dump(1) << '\n';
    if (!file.flush()) throw std::runtime_error("cannot write " + options.out);
    if (!results["failures"].empty()) return false;
    std::filesystem::remove_all(folder);
    return true;
}

}  // namespace

int main(int argc, char* argv[]) {
    const bench::Options options = bench::read_options(argc, argv);
    try {
        if (options.command == bench::Options::Command::report) {
            bench::report(options.results, options.folder);
        } else if (!measure(options)) {
            std::cerr << "bench: not everything could be measured, see FAILED above; the results have the rest\n";
            return 1;
        }
    } catch (const std::exception& error) {
        std::cerr << "bench: " << error.what() << '\n';
        return 1;
    }
    return 0;
}
