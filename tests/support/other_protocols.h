// Publishes as AMQP 1.0, MQTT and STOMP clients do, in as few frames as that takes: what RabbitMQ takes from them it
// cannot always express in AMQP 0-9-1. Each call makes a connection of its own to the broker under test, and returns
// once the broker has accepted the message; else it throws.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace retryd::test {

/// Encoded as AMQP 1.0 does.
namespace amqp10 {

std::string uuid();
std::string character(char32_t c);
std::string symbol(const std::string& text);
std::string text(const std::string& text);
std::string binary(const std::string& bytes);
std::string ulong(std::uint64_t number);
/// One within the other, the innermost is empty.
std::string nested_lists(int levels);

struct Message {
    std::vector<std::pair<std::string, std::string>> application_properties = {};  // name, encoded value
    std::vector<std::pair<std::string, std::string>> annotations = {};
    std::string message_id = {};    // encoded; empty: none
    std::string content_type = {};  // not encoded; empty: none
    std::string body = "amqp 1.0";
};

std::string encoded(const Message& message);
/// A section of a message, by its number: a list (0x70 header, 0x73 properties) or a map with symbols for names (0x72
/// message-annotations, 0x78 footer) or with texts (0x74 application-properties).
std::string list_section(std::uint8_t code, const std::vector<std::string>& items);
std::string map_section(std::uint8_t code, const std::vector<std::pair<std::string, std::string>>& fields);

/// To that queue. RabbitMQ 4, or 3 with its plugin.
void publish(const std::string& queue, const Message& message);
/// The same of a message that is encoded already, or is none.
void publish_encoded(const std::string& queue, const std::string& message);

/// A connection with a link that publishes to that address, and stays. RabbitMQ 4.
class Producer {
  public:
    explicit Producer(const std::string& address);
    ~Producer();
    Producer(const Producer&) = delete;
    Producer& operator=(const Producer&) = delete;

  private:
    class Link;
    std::unique_ptr<Link> link_;
};

/// Takes one message from that queue, rejects or accepts it, and returns it, encoded. RabbitMQ 4.
std::string take_and_reject(const std::string& queue);
std::string take_and_accept(const std::string& queue);
/// Takes one message from that queue and gives it up: `modified`, undeliverable here, with these annotations (name,
/// encoded value). RabbitMQ 4.
void take_and_give_up(const std::string& queue, const std::vector<std::pair<std::string, std::string>>& annotations);

}  // namespace amqp10

/// To that topic: levels are separated by slashes, which become dots in the routing key. It goes to the exchange
/// amq.topic.
void publish_mqtt(const std::string& topic, const std::string& body);

using Texts = std::vector<std::pair<std::string, std::string>>;

/// The same by MQTT 5, with these user properties. RabbitMQ 4.
void publish_mqtt5(const std::string& topic, const Texts& user_properties, const std::string& body);

/// To that queue, which is there.
void publish_stomp(const std::string& queue, const std::string& content_type, const std::string& body,
                   const Texts& more_headers = {});

}  // namespace retryd::test
