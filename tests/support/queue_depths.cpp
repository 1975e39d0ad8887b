#include "support/queue_depths.h"

#include <regex>
#include <stdexcept>

#include "support/environment.h"

namespace retryd::test {

std::vector<QueueDepth> queue_depths(const std::string& vhost) {
    const std::string told = erlang(
        "[{binary_to_list(element(4, proplists:get_value(name, Q))), proplists:get_value(messages, Q),"
        " proplists:get_value(messages_ready, Q)}"
        " || Q <- rabbit_amqqueue:info_all(<<\"" +
        vhost + "\">>, [name, messages, messages_ready])].");
    static const std::regex one(R"re(\{"([^"]+)",\s*(\d+),\s*(\d+)\})re");
    std::vector<QueueDepth> found;
    for (auto it = std::sregex_iterator(told.begin(), told.end(), one); it != std::sregex_iterator(); ++it)
        found.push_back({it->str(1), std::stoul(it->str(2)), std::stoul(it->str(3))});
    if (std::regex_replace(told, one, "").find_first_not_of("[], \t\n") != std::string::npos)
        throw std::runtime_error("the depths of queues are told as " + told);
    return found;
}

}  // namespace retryd::test
