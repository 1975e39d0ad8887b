// What is to be measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace retryd::bench {

struct Options {
    enum class Command { compare, growth, report };
    Command command = Command::compare;

    std::vector<std::size_t> sizes{100, 1024, 65536};
    std::vector<int> queues{1, 20};
    std::vector<std::string> contenders;  // empty: all
    std::vector<std::string> parts;       // of growth; empty: all
    int rounds = 5;
    std::uint32_t messages = 30'000;
    std::uint32_t probes = 4'000;
    bool quick = false;

    std::string out;                   // compare and growth: the JSON to write
    std::vector<std::string> results;  // report: the JSON files to read
    std::string folder;                // report: where its files go
};

/// Prints what is wrong, or the help, and ends the process where that is all there is to do.
Options read_options(int argc, char* argv[]);

/// Large bodies: fewer of them, so that one measurement takes seconds.
std::uint32_t messages_of(const Options& options, std::size_t body_bytes);

}  // namespace retryd::bench
