// A plain AMQP client for tests: one connection, synchronous, one thread. It shares nothing with src/amqp.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "support/await.h"
#include "support/message.h"

struct amqp_connection_state_t_;

namespace retryd::test {

struct Address {
    std::string host = "127.0.0.1";
    std::uint16_t port = 5672;
    std::string user = "guest";
    std::string password = "guest";
    std::string vhost = "/";
};

/// amqp://user:password@host:port/vhost; nothing after the host's slash is the vhost "/". Throws on anything else.
Address parse_address(const std::string& uri);
std::string uri_of(const Address& address);

/// The broker refused with a channel or connection exception: 404, 406 …
class Refused : public std::runtime_error {
  public:
    Refused(int code, const std::string& text) : std::runtime_error(std::to_string(code) + " " + text), code_(code) {}
    int code() const { return code_; }

  private:
    int code_;
};

struct QueueState {
    std::uint32_t messages = 0;  // ready ones
    std::uint32_t consumers = 0;
};

/// Throws std::runtime_error when the connection fails, Refused when the broker refuses; after a Refused from a
/// declaration, deletion or look at a queue the client can still be used.
class Client {
  public:
    explicit Client(const Address& address);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// Closes the socket without closing the connection first, as a crash does. Only destruction is allowed afterwards.
    void cut();
    /// `version` of the broker's server properties.
    const std::string& broker_version() const { return broker_version_; }

    void declare_queue(const std::string& queue, const Table& arguments = {});
    /// For this connection alone; it goes with it.
    void declare_exclusive_queue(const std::string& queue, const Table& arguments = {});
    /// Durable, for any connection; it goes with its last consumer.
    void declare_auto_delete_queue(const std::string& queue, const Table& arguments = {});
    void declare_exchange(const std::string& exchange, const std::string& type);
    void bind(const std::string& queue, const std::string& exchange, const std::string& key = "");
    void unbind(const std::string& queue, const std::string& exchange, const std::string& key = "");
    void delete_queue(const std::string& queue);
    void delete_exchange(const std::string& exchange);
    /// Nothing when there is no such queue. Asks again where the broker may only be too busy to ask the queue.
    std::optional<QueueState> look_at(const std::string& queue);

    /// Published as mandatory and confirmed before it returns.
    void publish(const std::string& exchange, const std::string& key, const Message& message);
    /// The same without waiting; await_confirms() throws if one was refused or could not be routed.
    void send(const std::string& exchange, const std::string& key, const Message& message);
    void await_confirms(milliseconds within = patience);

    /// basic.get: the oldest ready message, unsettled; nothing when there is none.
    std::optional<Received> get(const std::string& queue);
    /// The broker sends headers in one frame, which may become larger than what was agreed: by its own x-death. For a
    /// client that does not publish.
    void receive_large_headers();
    /// Starts consuming; the deliveries come out of next().
    void consume(const std::string& queue, std::uint16_t prefetch);
    /// The same with no-ack: what it is sent counts as done.
    void consume_without_acks(const std::string& queue);
    std::optional<Received> next(milliseconds within);

    void ack(std::uint64_t tag);
    void reject(std::uint64_t tag, bool requeue);  // basic.reject
    void nack(std::uint64_t tag, bool requeue);    // basic.nack

  private:
    std::optional<QueueState> ask_for(const std::string& queue);
    bool pump(milliseconds within);
    void handle_method(std::uint32_t id, void* decoded);
    void confirmed(std::uint64_t seq, bool multiple, bool acked);
    Received read_content(std::uint16_t channel);
    void open_control();
    void check_control();
    void check(int status, const char* what);
    [[noreturn]] void give_up(const std::string& what);

    amqp_connection_state_t_* connection_ = nullptr;
    std::string broker_version_;
    std::string user_;
    bool control_open_ = false;
    bool cut_ = false;
    bool confirming_ = false;
    std::uint64_t published_ = 0;
    std::map<std::uint64_t, bool> unconfirmed_;
    std::string trouble_;  // the first publication that was nacked or returned
    std::deque<Received> deliveries_;
};

}  // namespace retryd::test
