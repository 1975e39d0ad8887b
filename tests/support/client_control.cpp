// The client's declarations, deletions and looks: on a channel of their own, reopened after each refusal.
#include "support/client.h"
#include "support/tables.h"

namespace retryd::test {

namespace {
constexpr amqp_channel_t control = 2;
}

void Client::open_control() {
    if (control_open_) return;
    if (amqp_channel_open(connection_, control) == nullptr) throw std::runtime_error("test client: no control channel");
    control_open_ = true;
}

void Client::check_control() {
    const amqp_rpc_reply_t reply = amqp_get_rpc_reply(connection_);
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) {
        amqp_maybe_release_buffers_on_channel(connection_, control);
        return;
    }
    if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION && reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
        const auto* close = static_cast<const amqp_channel_close_t*>(reply.reply.decoded);
        const Refused refused(close->reply_code, text_of(close->reply_text));
        amqp_channel_close_ok_t ok{};
        amqp_send_method(connection_, control, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
        control_open_ = false;
        throw refused;
    }
    cut_ = true;
    if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION && reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
        const auto* close = static_cast<const amqp_connection_close_t*>(reply.reply.decoded);
        throw Refused(close->reply_code, text_of(close->reply_text));
    }
    throw std::runtime_error(std::string("test client: ") + amqp_error_string2(reply.library_error));
}

void Client::declare_queue(const std::string& queue, const Table& arguments) {
    open_control();
    TableEncoder encoder;
    amqp_queue_declare(connection_, control, bytes_of(queue), 0, 1, 0, 0, encoder.encode(arguments));
    check_control();
}

void Client::declare_exchange(const std::string& exchange, const std::string& type) {
    open_control();
    amqp_exchange_declare(connection_, control, bytes_of(exchange), bytes_of(type), 0, 1, 0, 0, amqp_empty_table);
    check_control();
}

void Client::bind(const std::string& queue, const std::string& exchange, const std::string& key) {
    open_control();
    amqp_queue_bind(connection_, control, bytes_of(queue), bytes_of(exchange), bytes_of(key), amqp_empty_table);
    check_control();
}

void Client::delete_queue(const std::string& queue) {
    open_control();
    amqp_queue_delete(connection_, control, bytes_of(queue), 0, 0);
    check_control();
}

void Client::delete_exchange(const std::string& exchange) {
    open_control();
    amqp_exchange_delete(connection_, control, bytes_of(exchange), 0);
    check_control();
}

std::optional<QueueState> Client::look_at(const std::string& queue) {
    open_control();
    const amqp_queue_declare_ok_t* ok =
        amqp_queue_declare(connection_, control, bytes_of(queue), 1, 0, 0, 0, amqp_empty_table);
    QueueState state;
    if (ok != nullptr) state = {ok->message_count, ok->consumer_count};
    try {
        check_control();
    } catch (const Refused& refused) {
        if (refused.code() == AMQP_NOT_FOUND) return std::nullopt;
        throw;
    }
    return state;
}

}  // namespace retryd::test
