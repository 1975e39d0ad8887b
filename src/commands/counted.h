// 1 queue, 2 queues.
#pragma once

#include <string>

namespace retryd::commands {

inline std::string counted(std::size_t number, const std::string& singular, const std::string& plural) {
    return std::to_string(number) + " " + (number == 1 ? singular : plural);
}

}  // namespace retryd::commands
