#include "stress/footprint.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace retryd::stress {
namespace {

long median(std::vector<long> numbers) {
    if (numbers.empty()) return 0;
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
    std::nth_element(numbers.begin(), middle, numbers.end());
    return *middle;
}

}  // namespace

Footprint footprint_of(pid_t process) {
    const std::string folder = "/proc/" + std::to_string(process);
    Footprint footprint;
    std::ifstream status(folder + "/status");
    for (std::string word; status >> word;) {
        if (word == "VmRSS:") status >> footprint.resident_kib;
        if (word == "Threads:") status >> footprint.threads;
    }
    std::error_code gone;
    for (std::filesystem::directory_iterator entry(folder + "/fd", gone), end; entry != end; entry.increment(gone))
        ++footprint.descriptors;
    return footprint;
}

Footprint median_of(const std::vector<Footprint>& readings, std::size_t from, std::size_t to) {
    const auto of = [&](long Footprint::*field) {
        std::vector<long> numbers;
        for (std::size_t i = from; i < std::min(to, readings.size()); ++i)
            numbers.push_back(readings[i].*field);
        return median(std::move(numbers));
    };
    return {of(&Footprint::resident_kib), of(&Footprint::descriptors), of(&Footprint::threads)};
}

bool Growth::none() const {
    return end.resident_kib <= begin.resident_kib + std::max(begin.resident_kib / 20, 1024L) &&
           end.descriptors <= begin.descriptors && end.threads <= begin.threads;
}

Growth growth_of(const std::vector<Footprint>& readings) {
    const std::size_t tenth = std::max<std::size_t>(readings.size() / 10, 1);
    return {median_of(readings, tenth, 2 * tenth), median_of(readings, readings.size() - tenth, readings.size())};
}

std::string to_string(const Footprint& footprint) {
    return std::to_string(footprint.resident_kib) + " KiB, " + std::to_string(footprint.descriptors) +
           " descriptors, " + std::to_string(footprint.threads) + " threads";
}

}  // namespace retryd::stress
