#include "http/management.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "http/inquiry.h"

namespace retryd::http {

ManagementClient::ManagementClient(config::Management settings, config::Tls tls, std::string vhost)
    : settings_(std::move(settings)), tls_(std::move(tls)), vhost_(std::move(vhost)) {}

std::vector<ListedQueue> ManagementClient::queues() const {
    const Inquiry inquiry(settings_, tls_, vhost_);
    const auto answer = inquiry.list("queues/" + percent_encoded(vhost_) + "?columns=name,type,messages,arguments");
    if (!answer) throw Error(inquiry.no_vhost());
    std::vector<ListedQueue> queues;
    for (const Json& item : *answer) {
        ListedQueue queue{text_in(item, "name"), text_in(item, "type"), {}, arguments_in(item)};
        const auto messages = item.find("messages");
        if (messages != item.end() && messages->is_number_integer()) queue.messages = messages->get<std::int64_t>();
        queues.push_back(std::move(queue));
    }
    return queues;
}

std::vector<ListedConsumer> ManagementClient::consumers() const {
    const Inquiry inquiry(settings_, tls_, vhost_);
    const auto answer = inquiry.list("consumers/" + percent_encoded(vhost_));
    if (!answer) throw Error(inquiry.no_vhost());
    std::vector<ListedConsumer> consumers;
    for (const Json& item : *answer) {
        const auto queue = item.find("queue");
        const std::string name = queue != item.end() && queue->is_object() ? text_in(*queue, "name") : "";
        consumers.push_back({name, text_in(item, "consumer_tag")});
    }
    return consumers;
}

std::vector<core::BindingSpec> ManagementClient::bindings_from(const std::string& exchange) const {
    const Inquiry inquiry(settings_, tls_, vhost_);
    const auto answer =
        inquiry.list("exchanges/" + percent_encoded(vhost_) + '/' + percent_encoded(exchange) + "/bindings/source");
    std::vector<core::BindingSpec> bindings;
    if (!answer) return bindings;
    for (const Json& item : *answer) {
        if (text_in(item, "destination_type") != "queue") continue;
        bindings.push_back({text_in(item, "destination"), exchange, text_in(item, "routing_key"), arguments_in(item)});
    }
    return bindings;
}

}  // namespace retryd::http
