#include "support/client.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "amqp/empty_answers.h"
#include "support/properties.h"
#include "support/tables.h"
#include "system/clock.h"

namespace retryd::test {

namespace {

constexpr amqp_channel_t content_channel = 1;  // publishes, consumes, gets, settles
constexpr amqp_channel_t control = 2;          // declares, deletes, checks; reopened after each refusal

[[noreturn]] void lost(const std::string& what) {
    throw std::runtime_error("test client: " + what);
}

timeval timeval_of(milliseconds duration) {
    const auto count = std::max<milliseconds::rep>(duration.count(), 0);
    return {static_cast<time_t>(count / 1000), static_cast<suseconds_t>(count % 1000 * 1000)};
}

std::string version_in(const amqp_table_t* server_properties) {
    const Table properties = decode(*server_properties);
    const Value* version = find(properties, "version");
    return version == nullptr ? "" : std::get<std::string>(version->data);
}

}  // namespace

Address parse_address(const std::string& uri) {
    char user[128];
    char password[128];
    char host[256];
    char vhost[256] = "";
    unsigned short port = 0;
    const int parts = std::sscanf(uri.c_str(), "amqp://%127[^:@/]:%127[^@/]@%255[^:/]:%hu/%255[^/]", user, password,
                                  host, &port, vhost);
    if (parts < 4) lost("not a URI that tests understand; expected amqp://USER:PASSWORD@HOST:PORT/");
    return {host, port, user, password, *vhost == '\0' ? "/" : vhost};
}

std::string uri_of(const Address& address) {
    return "amqp://" + address.user + ":" + address.password + "@" + address.host + ":" + std::to_string(address.port) +
           "/" + (address.vhost == "/" ? "" : address.vhost);
}

Client::Client(const Address& address) : user_(address.user) {
    connection_ = amqp_new_connection();
    amqp_socket_t* socket = amqp_tcp_socket_new(connection_);
    timeval timeout = timeval_of(patience);
    try {
        check(amqp_socket_open_noblock(socket, address.host.c_str(), address.port, &timeout), "connect");
        const timeval rpc_timeout = timeval_of(seconds(30));
        check(amqp_set_rpc_timeout(connection_, &rpc_timeout), "set a time-out");
        // No heartbeat: nothing serves it while a test is busy elsewhere.
        const amqp_rpc_reply_t reply =
            amqp_login(connection_, address.vhost.c_str(), 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, address.user.c_str(),
                       address.password.c_str());
        if (reply.reply_type != AMQP_RESPONSE_NORMAL) lost("login refused");
        broker_version_ = version_in(amqp_get_server_properties(connection_));
        if (amqp_channel_open(connection_, content_channel) == nullptr) lost("no channel");
    } catch (...) {
        amqp_destroy_connection(connection_);
        throw;
    }
}

Client::~Client() {
    if (!cut_) {
        const timeval brief = timeval_of(seconds(2));
        amqp_set_rpc_timeout(connection_, &brief);
        amqp_connection_close(connection_, AMQP_REPLY_SUCCESS);
    }
    amqp_destroy_connection(connection_);
}

void Client::cut() {
    cut_ = true;
    ::shutdown(amqp_get_sockfd(connection_), SHUT_RDWR);
}

void Client::check(int status, const char* what) {
    if (status != AMQP_STATUS_OK) give_up(std::string(what) + ": " + amqp_error_string2(status));
}

/// rabbitmq-c must not be given a broken connection to go on with, not even to close it: after a frame that is too
/// large it writes beyond its buffer.
void Client::give_up(const std::string& what) {
    cut_ = true;
    lost(what);
}

void Client::send(const std::string& exchange, const std::string& key, const Message& message) {
    if (!confirming_) {
        if (amqp_confirm_select(connection_, content_channel) == nullptr) lost("no confirms");
        confirming_ = true;
    }
    TableEncoder encoder;
    const amqp_basic_properties_t properties = encode_properties(message, encoder);
    check(amqp_basic_publish(connection_, content_channel, bytes_of(exchange), bytes_of(key), 1, 0, &properties,
                             bytes_of(message.body)),
          "publish");
    unconfirmed_[++published_] = true;
    while (published_ % 64 == 0 && pump(milliseconds(0))) {
    }
}

void Client::publish(const std::string& exchange, const std::string& key, const Message& message) {
    send(exchange, key, message);
    await_confirms();
}

void Client::await_confirms(milliseconds within) {
    const Clock::time_point deadline = Clock::now() + within;
    while (!unconfirmed_.empty()) {
        if (Clock::now() > deadline) lost(std::to_string(unconfirmed_.size()) + " publications without a confirm");
        pump(milliseconds(50));
    }
    if (!trouble_.empty()) lost(std::exchange(trouble_, ""));
}

void Client::confirmed(std::uint64_t seq, bool multiple, bool acked) {
    if (!acked) trouble_ = "the broker refused a publication (basic.nack)";
    if (multiple)
        unconfirmed_.erase(unconfirmed_.begin(), unconfirmed_.upper_bound(seq));
    else
        unconfirmed_.erase(seq);
}

std::optional<Received> Client::get(const std::string& queue) {
    const amqp_rpc_reply_t reply = amqp_basic_get(connection_, content_channel, bytes_of(queue), 0);
    check(reply.reply_type == AMQP_RESPONSE_NORMAL ? 0 : AMQP_STATUS_SOCKET_ERROR, "get a message");
    if (reply.reply.id != AMQP_BASIC_GET_OK_METHOD) return std::nullopt;
    const auto* ok = static_cast<const amqp_basic_get_ok_t*>(reply.reply.decoded);
    const std::uint64_t tag = ok->delivery_tag;
    const bool redelivered = ok->redelivered != 0;
    std::string exchange = text_of(ok->exchange);
    std::string key = text_of(ok->routing_key);
    Received received = read_content(content_channel);
    received.tag = tag;
    received.redelivered = redelivered;
    received.exchange = std::move(exchange);
    received.routing_key = std::move(key);
    return received;
}

Received Client::read_content(std::uint16_t channel) {
    amqp_message_t message;
    const amqp_rpc_reply_t reply = amqp_read_message(connection_, channel, &message, 0);
    check(reply.library_error, "read a message's content");
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) give_up("closed within a message's content");
    Received received;
    received.body = text_of(message.body);
    decode_properties(message.properties, received);
    amqp_destroy_message(&message);
    amqp_maybe_release_buffers_on_channel(connection_, channel);
    return received;
}

void Client::receive_large_headers() {
    constexpr int larger_than_any = 16 * 1024 * 1024;
    check(amqp_tune_connection(connection_, amqp_get_channel_max(connection_), larger_than_any, 0),
          "take large frames");
}

void Client::consume(const std::string& queue, std::uint16_t prefetch) {
    if (amqp_basic_qos(connection_, content_channel, 0, prefetch, 0) == nullptr) give_up("no prefetch");
    if (amqp_basic_consume(connection_, content_channel, bytes_of(queue), amqp_empty_bytes, 0, 0, 0,
                           amqp_empty_table) == nullptr)
        give_up("consuming " + queue + " failed");
}

void Client::consume_without_acks(const std::string& queue) {
    if (amqp_basic_consume(connection_, content_channel, bytes_of(queue), amqp_empty_bytes, 0, 1, 0,
                           amqp_empty_table) == nullptr)
        give_up("consuming " + queue + " failed");
}

std::optional<Received> Client::next(milliseconds within) {
    const Clock::time_point deadline = Clock::now() + within;
    while (deliveries_.empty()) {
        const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
        if (!pump(std::max(left, milliseconds(0))) && Clock::now() >= deadline) return std::nullopt;
    }
    Received received = std::move(deliveries_.front());
    deliveries_.pop_front();
    return received;
}

void Client::ack(std::uint64_t tag) {
    check(amqp_basic_ack(connection_, content_channel, tag, 0), "ack");
}

void Client::reject(std::uint64_t tag, bool requeue) {
    check(amqp_basic_reject(connection_, content_channel, tag, requeue ? 1 : 0), "reject");
}

void Client::nack(std::uint64_t tag, bool requeue) {
    check(amqp_basic_nack(connection_, content_channel, tag, 0, requeue ? 1 : 0), "nack");
}

bool Client::pump(milliseconds within) {
    amqp_frame_t frame;
    const timeval timeout = timeval_of(within);
    const int status = amqp_simple_wait_frame_noblock(connection_, &frame, &timeout);
    if (status == AMQP_STATUS_TIMEOUT) return false;
    check(status, "read");
    if (frame.frame_type == AMQP_FRAME_METHOD) handle_method(frame.payload.method.id, frame.payload.method.decoded);
    amqp_maybe_release_buffers(connection_);
    return true;
}

void Client::handle_method(std::uint32_t id, void* decoded) {
    if (id == AMQP_BASIC_ACK_METHOD) {
        const auto* ack = static_cast<const amqp_basic_ack_t*>(decoded);
        confirmed(ack->delivery_tag, ack->multiple != 0, true);
    } else if (id == AMQP_BASIC_NACK_METHOD) {
        const auto* nack = static_cast<const amqp_basic_nack_t*>(decoded);
        confirmed(nack->delivery_tag, nack->multiple != 0, false);
    } else if (id == AMQP_BASIC_RETURN_METHOD) {
        const auto* returned = static_cast<const amqp_basic_return_t*>(decoded);
        trouble_ = "returned: " + text_of(returned->reply_text) + " for '" + text_of(returned->routing_key) + "'";
        read_content(content_channel);
    } else if (id == AMQP_BASIC_DELIVER_METHOD) {
        const auto* deliver = static_cast<const amqp_basic_deliver_t*>(decoded);
        Received received;
        received.tag = deliver->delivery_tag;
        received.redelivered = deliver->redelivered != 0;
        received.exchange = text_of(deliver->exchange);
        received.routing_key = text_of(deliver->routing_key);
        static_cast<Message&>(received) = read_content(content_channel);
        deliveries_.push_back(std::move(received));
    } else if (id == AMQP_CHANNEL_CLOSE_METHOD) {
        const auto* close = static_cast<const amqp_channel_close_t*>(decoded);
        cut_ = true;  // what was in flight on it is gone: a test must not go on as if nothing had happened
        throw Refused(close->reply_code, text_of(close->reply_text));
    } else if (id == AMQP_CONNECTION_CLOSE_METHOD) {
        const auto* close = static_cast<const amqp_connection_close_t*>(decoded);
        cut_ = true;
        throw Refused(close->reply_code, text_of(close->reply_text));
    }
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

void Client::declare_exclusive_queue(const std::string& queue, const Table& arguments) {
    open_control();
    TableEncoder encoder;
    amqp_queue_declare(connection_, control, bytes_of(queue), 0, 0, 1, 1, encoder.encode(arguments));
    check_control();
}

void Client::declare_auto_delete_queue(const std::string& queue, const Table& arguments) {
    open_control();
    TableEncoder encoder;
    amqp_queue_declare(connection_, control, bytes_of(queue), 0, 1, 0, 1, encoder.encode(arguments));
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

void Client::unbind(const std::string& queue, const std::string& exchange, const std::string& key) {
    open_control();
    amqp_queue_unbind(connection_, control, bytes_of(queue), bytes_of(exchange), bytes_of(key), amqp_empty_table);
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

std::optional<QueueState> Client::ask_for(const std::string& queue) {
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

std::optional<QueueState> Client::look_at(const std::string& queue) {
    constexpr int most_times = 40;
    for (int asked = 1;; ++asked) {
        const core::SteadyTime begun = system::steady_now();
        const auto state = ask_for(queue);
        if (!state || asked >= most_times) return state;
        if (!amqp::may_be_unasked({state->messages, state->consumers}, system::steady_now() - begun)) return state;
    }
}

}  // namespace retryd::test
