#include "support/queue_depths.h"

#include <regex>
#include <stdexcept>

#include "support/environment.h"

namespace retryd::test {

namespace {

/// Only the node that leads a quorum queue counts it; each other one tells 0 (RabbitMQ 3.10, 4.3).
std::string depths_of(const std::string& vhost) {
    return "[begin Node = case amqqueue:get_pid(Q) of"
           " {_, _} = Member -> case ra:members(Member, 5000) of {ok, _, {_, Leader}} -> Leader; _ -> none end;"
           " Pid -> node(Pid) end,"
           " {resource, _, _, Name} = amqqueue:get_name(Q),"
           " case rpc:call(Node, rabbit_amqqueue, info, [Q, [messages, messages_ready]]) of"
           " [{_, All}, {_, Ready}] -> {binary_to_list(Name), All, Ready};"
           " _ -> {binary_to_list(Name), unknown} end end"
           " || Q <- rabbit_amqqueue:list(<<\"" +
           vhost + "\">>)].";
}

}  // namespace

std::vector<QueueDepth> queue_depths(const std::string& vhost) {
    const std::string told = erlang(depths_of(vhost));
    static const std::regex one(R"re(\{"([^"]+)",\s*(?:(\d+),\s*(\d+)|unknown)\})re");
    std::vector<QueueDepth> found;
    for (auto it = std::sregex_iterator(told.begin(), told.end(), one); it != std::sregex_iterator(); ++it) {
        if (it->str(2).empty())
            found.push_back({it->str(1), false});
        else
            found.push_back({it->str(1), true, std::stoul(it->str(2)), std::stoul(it->str(3))});
    }
    if (std::regex_replace(told, one, "").find_first_not_of("[], \t\n") != std::string::npos)
        throw std::runtime_error("the depths of queues are told as " + told);
    return found;
}

}  // namespace retryd::test
