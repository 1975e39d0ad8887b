#include "machine.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "support/environment.h"
#include "support/shell.h"

namespace retryd::bench {

namespace {

std::string processor() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
    }
    return "unknown";
}

/// The first line that the command prints; nothing where it fails.
std::string told_by(const std::string& command) {
    try {
        const std::string output = test::output_of(command);
        return output.substr(0, output.find('\n'));
    } catch (const std::exception&) {
        return "";
    }
}

}  // namespace

nlohmann::json describe_machine(const std::string& broker_version) {
    return {{"broker", broker_version},
            {"processor", processor()},
            {"cores", std::thread::hardware_concurrency()},
            {"kernel", told_by("uname -r")},
            {"retryd", told_by(test::shell_word(test::retryd_binary()) + " --version")},
            {"node", told_by("node --version")},
            {"amqplib", BENCH_AMQPLIB_VERSION},
            {"python", told_by("/usr/bin/python3 --version")},
            {"pika", told_by("/usr/bin/python3 -c 'import pika; print(pika.__version__)'")},
            {"date", told_by("date -u +%Y-%m-%d")}};
}

}  // namespace retryd::bench
