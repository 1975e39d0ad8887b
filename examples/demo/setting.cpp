#include "setting.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "config/uri.h"

namespace retryd::demo {
namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
    throw std::runtime_error(std::string{name} +
                             " is not set: this program needs a RabbitMQ of its own, so it cannot begin. Run ./demo, "
                             "which starts one");
}

config::Endpoint endpoint_of(const std::string& text) {
    const auto parsed = config::parse_uri(text);
    if (const auto* complaint = std::get_if<config::UriComplaint>(&parsed)) {
        throw std::runtime_error("RETRYD_DEMO_URI: " + complaint->text);
    }
    const auto& uri = std::get<config::Uri>(parsed);
    const config::Endpoint usual;
    return {uri.host,
            uri.port,
            uri.tls,
            uri.vhost,
            uri.username.value_or(usual.username),
            uri.password.value_or(usual.password)};
}

}  // namespace

Setting read_setting() {
    return {endpoint_of(variable("RETRYD_DEMO_URI")), std::filesystem::absolute(variable("RETRYD_DEMO_BINARY")),
            variable("RETRYD_CTL"), std::filesystem::absolute(variable("RETRYD_DEMO_DIR"))};
}

}  // namespace retryd::demo
