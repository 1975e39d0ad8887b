// A receiver of AMQP 1.0: takes messages from the head of one queue, one when asked, and holds them until they are
// settled. For messages that RabbitMQ cannot express in AMQP 0-9-1 (amqp/undeliverable.h); all else is rabbitmq-c's.
//
// RabbitMQ 4 speaks AMQP 1.0 on the port of AMQP 0-9-1; 3.x does so with the plugin rabbitmq_amqp1_0.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "core/broker_features.h"
#include "core/time.h"

namespace retryd::amqp::amqp10 {

// ── Encoding ────────────────────────────────────────────────────────────────────────────────────────────────────────
//
// As much of AMQP 1.0's as a receiver needs: writing its performatives, and reading what a broker sends, which holds
// what strangers have written.

/// Codes of what is described: frames, and the parts of a message.
enum class Code : std::uint8_t {
    open = 0x10,
    begin = 0x11,
    attach = 0x12,
    flow = 0x13,
    transfer = 0x14,
    disposition = 0x15,
    detach = 0x16,
    end = 0x17,
    close = 0x18,
    error = 0x1d,
    accepted = 0x24,
    rejected = 0x25,
    released = 0x26,
    source = 0x28,
    target = 0x29,
    sasl_mechanisms = 0x40,
    sasl_init = 0x41,
    sasl_outcome = 0x44,
    message_annotations = 0x72,
    properties = 0x73,
    application_properties = 0x74,
};

// Encoded values. A list of them, with its code, is a performative.
std::string null();
std::string boolean(bool value);
std::string byte(std::uint8_t value);
std::string number(std::uint32_t value);
std::string text(std::string_view value);
std::string symbol(std::string_view value);
std::string binary(std::string_view value);
std::string list(Code code, const std::vector<std::string>& items);

/// A value that was read: its constructor, and its bytes without it. Views into what it was read from.
struct Item {
    std::uint8_t constructor = 0x40;                   // null
    std::string_view bytes;                            // of a list, a map or an array what follows its size
    std::optional<std::uint64_t> code = std::nullopt;  // where it is described by a number

    /// Nothing where it is no text, symbol or binary.
    std::optional<std::string_view> text() const;
    /// Nothing where it is no unsigned number.
    std::optional<std::uint64_t> number() const;
    bool is_true() const;
    /// Of a list or a map, in which names and values take turns, the first 10,000; else, and where it makes no sense,
    /// none.
    std::vector<Item> items() const;
};

/// Takes the next value off the bytes. Nothing where they make no sense.
std::optional<Item> take_item(std::string_view& bytes);

// ── The receiver ────────────────────────────────────────────────────────────────────────────────────────────────────

class ByteStream;

/// What of a message tells a person which one it is. Empty where it does not say.
struct Description {
    std::string exchange;  // that it was published to, before its first death
    std::string queue;     // where it died first
    std::string user_id;
    std::string message_id;
    std::string content_type;
};

Description describe(std::string_view message);
/// Not over its deliveries, which the broker counts in its header and annotations.
std::uint64_t digest(std::string_view message);

/// A message that the receiver has taken and not settled yet.
struct Taken {
    std::uint32_t id = 0;
    Description description;
    /// Of what stays the same from one delivery to the next: copies of one message have the same.
    std::uint64_t digest = 0;
};

/// Every call throws Error when the connection is lost, or the broker refuses.
class Receiver {
  public:
    /// Connects, logs in and attaches itself to the queue; nothing is taken yet. Throws Error of the kind protocol
    /// where the broker does not speak AMQP 1.0.
    Receiver(const config::Endpoint& endpoint, const config::Broker& settings, const core::BrokerVersion& version,
             const std::string& queue);
    /// What was taken and is not settled goes back to the queue.
    ~Receiver();
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;

    /// The message at the head of the queue. Nothing where none came within that time; it may come later, so that no
    /// further one can be asked for.
    std::optional<Taken> take(core::Milliseconds within);
    /// For good: the one, the other, and all between them that are not settled yet. In one frame: of many RabbitMQ
    /// sends the queue 32 at a time (rabbit_fifo_client.erl), and forgets the rest when the connection ends; their
    /// messages come again (350 one by one, 45 were there again: 4.3.6). RabbitMQ 3.x makes many of the one all the
    /// same (rabbit_amqp1_0_session_process.erl).
    void drop(const Taken& first, const Taken& last);
    /// The queue dead-letters them; for good where it does not.
    void reject(const Taken& first, const Taken& last);
    /// Back to the queue.
    void release(const Taken& message);

    /// Keeps the connection alive: to be called every few seconds.
    void serve();
    /// Ends the connection, once the broker has heard all that was said. Nothing else may be called then.
    void finish();
    /// Drops the connection without a word, for a broker that may not answer. Nothing else may be called then.
    void abandon();

  private:
    struct Frame {
        Code code{};
        std::vector<Item> fields;
        std::string_view rest;  // the payload of a transfer
        std::string bytes;      // all of it, which the views are of
    };

    void log_in(const config::Endpoint& endpoint, const config::Broker& settings);
    void attach(const config::Endpoint& endpoint, const core::BrokerVersion& version, const std::string& queue);
    void greet(std::uint8_t protocol);
    void write(std::uint8_t type, const std::string& performative);
    void write_flow(std::uint32_t credit);
    void settle(std::uint32_t first, std::uint32_t last, Code state);
    std::unique_ptr<Frame> read_frame();
    std::unique_ptr<Frame> await(Code code);
    bool take_in(const Frame& frame);

    std::unique_ptr<ByteStream> stream_;
    std::chrono::steady_clock::time_point written_{};
    std::uint32_t next_incoming_ = 0;   // transfers, of the session
    std::uint32_t delivery_count_ = 0;  // of the link
    std::optional<std::uint32_t> id_;   // of the message that comes in
    std::string message_;
    bool closing_ = false;
};

}  // namespace retryd::amqp::amqp10
