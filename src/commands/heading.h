// Headings, set off where there is colour.
#pragma once

#include <string>

namespace retryd::commands {

class Heading {
  public:
    explicit Heading(bool colour) : on_(colour ? "\x1b[1m" : ""), off_(colour ? "\x1b[0m" : "") {}
    std::string operator()(const std::string& text) const { return on_ + text + off_; }

  private:
    std::string on_;
    std::string off_;
};

}  // namespace retryd::commands
