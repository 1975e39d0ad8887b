// Which faults have been said already: a lasting one is said once, and again only when it changes or has healed.
#pragma once

#include <map>
#include <string>

namespace retryd::daemon {

class Faults {
  public:
    /// Whether this is something new about that broker. Each broker of a list has a fault of its own.
    bool is_news(const std::string& broker, const std::string& fault);

    void healed() { last_.clear(); }

  private:
    std::map<std::string, std::string> last_;
};

}  // namespace retryd::daemon
