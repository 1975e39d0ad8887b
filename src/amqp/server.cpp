#include "amqp/server.h"

#include <string_view>

#include "amqp/codec.h"
#include "core/safe_text.h"

namespace retryd::amqp {

namespace {

std::string text_in(const std::optional<core::Table>& properties, std::string_view name) {
    return properties ? std::string{core::text_of(core::find(*properties, name)).value_or("")} : std::string{};
}

bool is_rabbitmq(const Server& server) {
    return server.product == "RabbitMQ" || server.platform.starts_with("Erlang/OTP");
}

}  // namespace

Server server_of(amqp_connection_state_t state) {
    Arena arena;
    const auto properties = read_table(*amqp_get_server_properties(state), arena);
    return {text_in(properties, "product"), text_in(properties, "platform"), text_in(properties, "version")};
}

std::optional<core::BrokerVersion> version_of(const Server& server) {
    return core::parse_version(server.version);
}

std::string why_not_used(const Server& server) {
    constexpr std::string_view remedy = ". Nothing was declared or consumed there; name a RabbitMQ in broker.uri";
    std::string line;
    if (!is_rabbitmq(server)) {
        line = server.product.empty() ? "does not say what it is"
                                      : "is " + core::safe_name(server.product) + ' ' + core::safe_name(server.version);
        line +=
            ", not RabbitMQ: that a message waits on its rung until the work queue has taken it, and that a confirm "
            "means it is kept, retryd relies on as RabbitMQ does it, and it was tried there alone";
    } else if (!version_of(server)) {
        line = "is RabbitMQ, but does not say which version (" + core::quoted(server.version) +
               "): what it does with a message depends on that";
    }
    return line.empty() ? line : line.append(remedy);
}

}  // namespace retryd::amqp
