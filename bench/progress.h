// Lines on standard error that say what is being measured and how long it will go on.
#pragma once

#include <string>
#include <vector>

#include "measurement.h"
#include "support/await.h"

namespace retryd::bench {

std::string size_text(std::size_t bytes);                          // 100 B, 1 KiB
std::string count_text(std::size_t count, const std::string& of);  // 1 work queue, 20 work queues

class Progress {
  public:
    explicit Progress(std::size_t measurements) : all_(measurements) {}

    void begin(const std::string& what);
    void end(const Measurement& measured);
    /// What was begun cannot be measured: told, and kept for the results, since the others still can.
    void fail(const std::string& why);
    const std::vector<std::string>& failures() const { return failures_; }
    void say(const std::string& text) const;

  private:
    std::size_t all_;
    std::size_t done_ = 0;
    std::string what_;
    std::vector<std::string> failures_;
    test::Clock::time_point begun_ = test::Clock::now();
};

}  // namespace retryd::bench
