#include "daemon/faults.h"

namespace retryd::daemon {

bool Faults::is_news(const std::string& broker, const std::string& fault) {
    std::string& last = last_[broker];
    if (last == fault) return false;
    last = fault;
    return true;
}

}  // namespace retryd::daemon
