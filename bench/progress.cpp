#include "progress.h"

#include <cstdio>
#include <iostream>

namespace retryd::bench {

std::string size_text(std::size_t bytes) {
    if (bytes >= 1024 && bytes % 1024 == 0) return std::to_string(bytes / 1024) + " KiB";
    return std::to_string(bytes) + " B";
}

std::string count_text(std::size_t count, const std::string& of) {
    return std::to_string(count) + " " + of + (count == 1 ? "" : "s");
}

void Progress::begin(const std::string& what) {
    what_ = what;
    ++done_;
}

void Progress::end(const Measurement& measured) {
    char figures[200];
    std::snprintf(figures, sizeof figures, "%.0f /s, CPU a message %.1f us + broker %.1f us, %.1f MiB", measured.rate,
                  measured.cpu_us, measured.broker_cpu_us, static_cast<double>(measured.peak_kib) / 1024);
    const double taken = std::chrono::duration<double>(test::Clock::now() - begun_).count();
    const double left = taken / static_cast<double>(done_) * static_cast<double>(all_ - done_);
    say(std::to_string(done_) + "/" + std::to_string(all_) + " " + what_ + ": " + figures +
        (measured.note.empty() ? "" : " (" + measured.note + ")") + "; about " +
        std::to_string(static_cast<int>(left / 60 + 0.5)) + " min left");
}

void Progress::fail(const std::string& why) {
    failures_.push_back(what_ + ": " + why);
    say("FAILED " + failures_.back());
}

void Progress::say(const std::string& text) const {
    std::cerr << "bench: " << text << std::endl;
}

}  // namespace retryd::bench
