#include "amqp/login.h"

#include <array>

#include "amqp/connect.h"
#include "amqp/error.h"

namespace retryd::amqp {
namespace {

constexpr int any_channel_max = 0;
constexpr int frame_max = 131072;  // RabbitMQ's default

amqp_table_entry_t text_entry(std::string_view key, std::string_view value) {
    amqp_table_entry_t entry{};
    entry.key = bytes_of(key);
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = bytes_of(value);
    return entry;
}

amqp_table_entry_t true_entry(std::string_view key) {
    amqp_table_entry_t entry{};
    entry.key = bytes_of(key);
    entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
    entry.value.value.boolean = 1;
    return entry;
}

template <std::size_t count>
amqp_table_t table_of(std::array<amqp_table_entry_t, count>& entries) {
    return {static_cast<int>(count), entries.data()};
}

[[noreturn]] void refuse(const config::Endpoint& endpoint, const amqp_connection_close_t& close) {
    throw Error(
        Error::Kind::refused_login,
        "the broker at " + peer_of(endpoint) + " refused user '" + endpoint.username + "' on vhost '" + endpoint.vhost +
            "': " + std::to_string(close.reply_code) + ' ' + std::string{view_of(close.reply_text)} +
            (close.reply_code == AMQP_ACCESS_REFUSED
                 ? "; check user name and password (rabbitmqctl authenticate_user)"
                 : "; check that the vhost exists and that the user may enter it (rabbitmqctl set_permissions)"));
}

[[noreturn]] void fail(const config::Endpoint& endpoint, int status) {
    std::string reason = amqp_error_string2(status);
    if (status == AMQP_STATUS_TIMEOUT) {
        reason = "connected, but no answer in time";
    } else if (status == AMQP_STATUS_CONNECTION_CLOSED || status == AMQP_STATUS_BAD_AMQP_DATA ||
               status == AMQP_STATUS_SOCKET_ERROR) {
        reason += endpoint.tls ? "; is this an AMQP port?" : "; is this an AMQP port, and one without TLS?";
    }
    throw Error(Error::Kind::unreachable, "cannot log in to the broker at " + peer_of(endpoint) + ": " + reason);
}

}  // namespace

void log_in(amqp_connection_state_t state, const config::Endpoint& endpoint, std::chrono::seconds heartbeat,
            const std::string& name) {
    // Without consumer_cancel_notify a deleted error queue stops deliveries without a word; without
    // connection.blocked an alarm is invisible.
    std::array capabilities{true_entry("consumer_cancel_notify"), true_entry("connection.blocked"),
                            true_entry("basic.nack"), true_entry("publisher_confirms")};
    amqp_table_entry_t capability_entry{};
    capability_entry.key = bytes_of("capabilities");
    capability_entry.value.kind = AMQP_FIELD_KIND_TABLE;
    capability_entry.value.value.table = table_of(capabilities);
    std::array properties{text_entry("connection_name", name), text_entry("product", "retryd"),
                          text_entry("version", RETRYD_VERSION), text_entry("information", ""), capability_entry};
    const amqp_table_t table = table_of(properties);

    const amqp_rpc_reply_t reply = amqp_login_with_properties(
        state, endpoint.vhost.c_str(), any_channel_max, frame_max, static_cast<int>(heartbeat.count()), &table,
        AMQP_SASL_METHOD_PLAIN, endpoint.username.c_str(), endpoint.password.c_str());
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
    if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION) fail(endpoint, reply.library_error);
    if (reply.reply.id != AMQP_CONNECTION_CLOSE_METHOD) fail(endpoint, AMQP_STATUS_WRONG_METHOD);
    refuse(endpoint, *static_cast<const amqp_connection_close_t*>(reply.reply.decoded));
}

}  // namespace retryd::amqp
