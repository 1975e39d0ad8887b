#include "support/other_protocols.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include "amqp/amqp10/receiver.h"
#include "support/await.h"
#include "support/environment.h"

namespace retryd::test {
namespace {

template <int bytes>
std::string number(std::uint64_t value) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i)
        text += static_cast<char>(value >> (8 * i));
    return text;
}

constexpr seconds longest_for_an_answer{20};
/// It may be published while one waits for it, and to whoever does that on a busy machine this takes a while.
constexpr seconds longest_for_a_message{60};

/// A TCP connection to the port of the broker under test; each protocol listens on an address of its own
/// (scripts/lib/node-files.sh). `longest`: so long it waits for what is to be read.
class Stream {
  public:
    explicit Stream(const char* host, seconds longest = longest_for_an_answer)
        : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(broker_address().port);
        inet_pton(AF_INET, host, &to.sin_addr);
        const timeval timeout{longest.count(), 0};
        setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
        if (connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0)
            throw std::runtime_error(std::string{"nobody listens on "} + host);
    }
    ~Stream() { close(fd_); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    void write(const std::string& bytes) const {
        for (std::size_t sent = 0; sent < bytes.size();) {
            const ssize_t some = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
            if (some <= 0) throw std::runtime_error("the broker takes nothing more");
            sent += static_cast<std::size_t>(some);
        }
    }
    std::string read(std::size_t bytes) const {
        std::string text(bytes, '\0');
        for (std::size_t got = 0; got < bytes;) {
            const ssize_t some = recv(fd_, text.data() + got, bytes - got, 0);
            if (some <= 0) throw std::runtime_error("the broker closed the connection, or does not answer");
            got += static_cast<std::size_t>(some);
        }
        return text;
    }

  private:
    int fd_;
};

std::string vhost() {
    return broker_address().vhost;
}

}  // namespace

namespace amqp10 {
namespace {

constexpr std::uint8_t amqp_frame = 0;
constexpr std::uint8_t sasl_frame = 1;
constexpr std::size_t largest_transfer = 64 * 1024;

const std::string null = "\x40";

std::string uint(std::uint32_t value) {
    return '\x70' + number<4>(value);
}
std::string boolean(bool value) {
    return value ? "\x41" : "\x42";
}

std::string compound(char constructor, const std::vector<std::string>& items) {
    std::string all;
    for (const std::string& item : items)
        all += item;
    return constructor + number<4>(all.size() + 4) + number<4>(items.size()) + all;
}
std::string described(std::uint8_t code, const std::string& value) {
    return std::string("\0\x53", 2) + number<1>(code) + value;
}
std::string list(std::uint8_t code, const std::vector<std::string>& items) {
    return described(code, compound('\xd0', items));
}
using Fields = std::vector<std::pair<std::string, std::string>>;
std::string plain_map(const Fields& fields, bool symbols) {
    std::vector<std::string> items;
    for (const auto& [name, value] : fields) {
        items.push_back(symbols ? symbol(name) : text(name));
        items.push_back(value);
    }
    return compound('\xd1', items);
}
std::string map(std::uint8_t code, const Fields& fields, bool symbols) {
    return described(code, plain_map(fields, symbols));
}

}  // namespace

std::string encoded(const Message& message) {
    std::string all;
    if (!message.annotations.empty()) all += map(0x72, message.annotations, true);
    const std::string id = message.message_id.empty() ? null : message.message_id;
    const std::string type = message.content_type.empty() ? null : symbol(message.content_type);
    all += list(0x73, {id, null, null, null, null, null, type});
    if (!message.application_properties.empty()) all += map(0x74, message.application_properties, false);
    return all + described(0x75, binary(message.body));
}

namespace {

class Session {
  public:
    explicit Session(seconds longest = longest_for_an_answer) : stream_(broker_address().host.c_str(), longest) {
        const Address& broker = broker_address();
        const std::string host = text("vhost:" + vhost());
        greet(3);
        await(0x40);  // mechanisms
        const std::string nul(1, '\0');
        write(sasl_frame, list(0x41, {symbol("PLAIN"), binary(nul + broker.user + nul + broker.password), host}));
        await(0x44);  // outcome
        greet(0);
        write(amqp_frame, list(0x10, {text("retryd tests"), host}));
        await(0x10);
        write(amqp_frame, list(0x11, {null, uint(0), uint(2048), uint(2048)}));
        await(0x11);
    }

    void attach_sender(const std::string& address) {
        const std::string source = list(0x28, {text(address)});
        const std::string target = list(0x29, {text(address)});
        write(amqp_frame,
              list(0x12, {text("sender"), uint(0), boolean(false), null, null, source, target, null, null, uint(0)}));
        await(0x13);  // flow: credit
    }
    /// On a link that is attached.
    void send(const std::string& message) {
        for (std::size_t from = 0; from < message.size(); from += largest_transfer) {
            const bool more = message.size() - from > largest_transfer;
            write(amqp_frame, list(0x14, {uint(0), uint(0), binary("1"), uint(0), boolean(false), boolean(more)}) +
                                  message.substr(from, largest_transfer));
        }
        const std::string state = await(0x15);  // disposition
        if (state.find(described(0x24, "")) == std::string::npos)
            throw std::runtime_error("the broker did not accept the message");
    }

    /// `outcome`, as a disposition has it. The message that it was.
    std::string take(const std::string& address, const std::string& outcome) {
        const std::string source = list(0x28, {text(address)});
        write(amqp_frame, list(0x12, {text("receiver"), uint(0), boolean(true), null, null, source, list(0x29, {})}));
        await(0x12);
        const std::string window = uint(2048);
        write(amqp_frame, list(0x13, {null, window, uint(0), window, uint(0), uint(0), uint(1)}));
        const std::string transfer = await(0x14);
        write(amqp_frame, list(0x15, {boolean(true), uint(0), uint(0), boolean(true), outcome}));
        write(amqp_frame, list(0x18, {}));
        await(0x18);  // the broker has heard it all
        std::string_view rest = transfer;
        amqp::amqp10::take_item(rest);
        return std::string(rest);
    }

  private:
    static std::string readable(std::string text) {
        std::replace_if(
            text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '.');
        return text;
    }
    void greet(std::uint8_t protocol) {
        const std::string header = "AMQP" + number<1>(protocol) + std::string("\1\0\0", 3);
        stream_.write(header);
        if (stream_.read(header.size()) != header) throw std::runtime_error("the broker speaks no AMQP 1.0");
    }
    void write(std::uint8_t type, const std::string& body) const {
        stream_.write(number<4>(body.size() + 8) + number<1>(2) + number<1>(type) + number<2>(0) + body);
    }
    /// The next frame of that performative.
    std::string await(std::uint8_t performative) const {
        for (;;) {
            const std::string head = stream_.read(8);
            std::uint32_t size = 0;
            for (int i = 0; i < 4; ++i)
                size = size << 8 | static_cast<std::uint8_t>(head[static_cast<std::size_t>(i)]);
            const std::string body = stream_.read(size - 8);
            if (body.size() < 3) continue;  // a heartbeat
            const auto code = static_cast<std::uint8_t>(body[2]);
            if (code == performative) return body;
            const bool ends = code >= 0x16 && code <= 0x18;  // detach, end, close
            if (ends) throw std::runtime_error("the broker refused: " + readable(body));
        }
    }

    Stream stream_;
};

}  // namespace

std::string uuid() {
    return '\x98' + std::string(16, '\x7');
}
std::string character(char32_t c) {
    return '\x73' + number<4>(c);
}
std::string symbol(const std::string& text) {
    return '\xb3' + number<4>(text.size()) + text;
}
std::string text(const std::string& text) {
    return '\xb1' + number<4>(text.size()) + text;
}
std::string binary(const std::string& bytes) {
    return '\xb0' + number<4>(bytes.size()) + bytes;
}
std::string ulong(std::uint64_t value) {
    return '\x80' + number<8>(value);
}

std::string nested_lists(int levels) {
    constexpr std::uint64_t each = 9;
    const std::string empty = "\x45";
    std::string all;
    for (int level = levels; level > 0; --level) {
        const std::uint64_t inner = empty.size() + each * static_cast<std::uint64_t>(level - 1);
        all += '\xd0' + number<4>(inner + 4) + number<4>(1);
    }
    return all + empty;
}

class Producer::Link : public Session {};

Producer::Producer(const std::string& address) : link_(std::make_unique<Link>()) {
    link_->attach_sender(address);
}
Producer::~Producer() = default;

void publish(const std::string& queue, const Message& message) {
    publish_encoded(queue, encoded(message));
}

std::string list_section(std::uint8_t code, const std::vector<std::string>& items) {
    return list(code, items);
}
std::string map_section(std::uint8_t code, const Fields& fields) {
    constexpr std::uint8_t application_properties = 0x74;
    return map(code, fields, code != application_properties);
}

std::string take_and_reject(const std::string& queue) {
    return Session(longest_for_a_message).take("/queues/" + queue, list(0x25, {}));
}
std::string take_and_accept(const std::string& queue) {
    return Session(longest_for_a_message).take("/queues/" + queue, list(0x24, {}));
}

void take_and_give_up(const std::string& queue, const Fields& annotations) {
    Session(longest_for_a_message)
        .take("/queues/" + queue, list(0x27, {boolean(false), boolean(true), plain_map(annotations, true)}));
}

namespace {

/// Again where the broker is too busy for it: nothing is sent yet.
std::unique_ptr<Session> attached(const std::string& address) {
    for (int left = 2;; --left) {
        try {
            auto session = std::make_unique<Session>();
            session->attach_sender(address);
            return session;
        } catch (const std::runtime_error& error) {
            const bool busy = std::string(error.what()).find("internal-error") != std::string::npos;
            if (!busy || left == 0) throw;
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
        }
    }
}

}  // namespace

void publish_encoded(const std::string& queue, const std::string& message) {
    const bool plugin = variable("RETRYD_TEST_BROKER_VERSION").starts_with("3.");
    attached((plugin ? "/amq/queue/" : "/queues/") + queue)->send(message);
}

}  // namespace amqp10

namespace {

std::string mqtt_text(const std::string& value) {
    return number<2>(value.size()) + value;
}

std::string mqtt_length(std::size_t left) {
    std::string length;
    do {
        const std::size_t part = left % 128;
        left /= 128;
        length += static_cast<char>(left > 0 ? part | 128 : part);
    } while (left > 0);
    return length;
}

std::string mqtt_packet(std::uint8_t type, const std::string& content) {
    return number<1>(type) + mqtt_length(content.size()) + content;
}

/// What is in the next packet, which has to be of that type.
std::string read_mqtt(const Stream& stream, char type) {
    if (stream.read(1).front() != type) throw std::runtime_error("MQTT: refused");
    std::size_t length = 0;
    for (unsigned shift = 0;; shift += 7) {
        const auto byte = static_cast<std::uint8_t>(stream.read(1).front());
        length |= std::size_t{byte & 0x7fU} << shift;
        if (byte < 0x80) break;
    }
    return stream.read(length);
}

/// `properties`: those of the message, encoded, in MQTT 5.
void publish_mqtt(std::uint8_t level, const std::string& topic, const std::string& properties,
                  const std::string& body) {
    constexpr std::uint8_t refusals = 0x80;
    // The broker ends an earlier connection with the same id, some versions in any vhost: that of a test beside this.
    const std::string client_id = "retryd-" + vhost();
    const Address& broker = broker_address();
    const std::string none = level < 5 ? "" : number<1>(0);
    const Stream stream("127.0.0.2");
    stream.write(mqtt_packet(0x10, mqtt_text("MQTT") + number<1>(level) + number<1>(0xc2) + number<2>(60) + none +
                                       mqtt_text(client_id) + mqtt_text(vhost() + ":" + broker.user) +
                                       mqtt_text(broker.password)));
    if (read_mqtt(stream, '\x20').at(1) != 0) throw std::runtime_error("MQTT: refused");
    stream.write(mqtt_packet(0x32, mqtt_text(topic) + number<2>(1) + properties + body));  // QoS 1
    const std::string confirm = read_mqtt(stream, '\x40');
    if (confirm.size() > 2 && static_cast<std::uint8_t>(confirm[2]) >= refusals)
        throw std::runtime_error("MQTT: not confirmed");
    stream.write(mqtt_packet(0xe0, ""));
}

}  // namespace

void publish_mqtt(const std::string& topic, const std::string& body) {
    publish_mqtt(4, topic, "", body);
}

void publish_mqtt5(const std::string& topic, const Texts& user_properties, const std::string& body) {
    std::string all;
    for (const auto& [name, value] : user_properties)
        all += number<1>(0x26) + mqtt_text(name) + mqtt_text(value);
    publish_mqtt(5, topic, mqtt_length(all.size()) + all, body);
}

void publish_stomp(const std::string& queue, const std::string& content_type, const std::string& body,
                   const Texts& more_headers) {
    const Address& broker = broker_address();
    const Stream stream("127.0.0.3");
    const auto await = [&](const std::string& command) {
        std::string frame;
        do {
            frame.clear();
            for (char next = stream.read(1).front(); next != '\0'; next = stream.read(1).front())
                if (!frame.empty() || next != '\n') frame += next;
        } while (frame.empty());
        if (!frame.starts_with(command)) throw std::runtime_error("STOMP: " + frame);
    };
    const std::string nul(1, '\0');
    stream.write("CONNECT\naccept-version:1.2\nhost:" + vhost() + "\nlogin:" + broker.user +
                 "\npasscode:" + broker.password + "\n\n" + nul);
    await("CONNECTED");
    std::string more;
    for (const auto& [name, value] : more_headers)
        more += name + ':' + value + '\n';
    stream.write("SEND\ndestination:/amq/queue/" + queue + "\ncontent-type:" + content_type + "\nreceipt:1\n" + more +
                 '\n' + body + nul);
    await("RECEIPT");
}

}  // namespace retryd::test
