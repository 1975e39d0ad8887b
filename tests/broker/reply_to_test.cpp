// A reply-to that only its requester may publish with. AMQP 0-9-1 lets nobody send it to a queue as it is; AMQP 1.0
// does.
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "support/catch.h"
#include "support/environment.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// As much of AMQP 1.0 as it takes to send one message to a queue: frames written by hand, answers told by their type.
class Amqp10Sender {
  public:
    explicit Amqp10Sender(const Address& to) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        addrinfo* found = nullptr;
        const addrinfo wanted{0, AF_INET, SOCK_STREAM, 0, 0, nullptr, nullptr, nullptr};
        if (::getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &wanted, &found) != 0 ||
            ::connect(socket_, found->ai_addr, found->ai_addrlen) != 0)
            throw std::runtime_error("cannot connect");
        ::freeaddrinfo(found);
        write(std::string("AMQP\3\1\0\0", 8));
        read(8);
        await_frame(0x40);  // sasl-mechanisms
        frame(1, 0x41, symbol("PLAIN") + binary(std::string(1, '\0') + to.user + '\0' + to.password), 2);
        await_frame(0x44);  // sasl-outcome
        write(std::string("AMQP\0\1\0\0", 8));
        read(8);
        frame(0, 0x10, text("retryd-test") + text("vhost:" + to.vhost), 2);
        frame(0, 0x11, null() + number(0) + number(1000) + number(1000), 4);
        await_frame(0x11);
    }
    ~Amqp10Sender() { ::close(socket_); }
    Amqp10Sender(const Amqp10Sender&) = delete;
    Amqp10Sender& operator=(const Amqp10Sender&) = delete;

    /// Returns when the broker has accepted it.
    void send(const std::string& queue, const std::string& reply_to, const std::string& body) {
        const std::string source = described(0x28, text("test"), 1);
        const std::string target = described(0x29, text("/queues/" + queue), 1);
        frame(0, 0x12,
              text("link") + number(0) + std::string("\x42") + null() + null() + source + target + null() + null() +
                  number(0),
              10);
        await_frame(0x13);  // flow: credit
        const std::string message = described(0x73, null() + null() + null() + null() + text(reply_to), 5) +
                                    std::string("\0S\x75", 3) + binary(body);
        frame(0, 0x14, number(0) + number(0) + binary("1") + number(0), 4, message);
        await_frame(0x15);  // disposition
    }

  private:
    static std::string null() { return "\x40"; }
    static std::string big_endian(std::size_t value) {
        std::string bytes;
        for (int shift = 24; shift >= 0; shift -= 8)
            bytes += static_cast<char>(value >> static_cast<unsigned>(shift));
        return bytes;
    }
    static std::string number(std::size_t value) { return "\x70" + big_endian(value); }
    static std::string sized(char type, const std::string& value) { return type + big_endian(value.size()) + value; }
    static std::string text(const std::string& value) { return sized('\xb1', value); }
    static std::string symbol(const std::string& value) { return sized('\xb3', value); }
    static std::string binary(const std::string& value) { return sized('\xb0', value); }
    static std::string described(char descriptor, const std::string& fields, std::size_t count) {
        return std::string("\0S", 2) + descriptor + '\xd0' + big_endian(fields.size() + 4) + big_endian(count) + fields;
    }

    void frame(char type, char descriptor, const std::string& fields, std::size_t count, const std::string& rest = "") {
        const std::string body = described(descriptor, fields, count) + rest;
        write(big_endian(body.size() + 8) + '\2' + type + std::string(2, '\0') + body);
    }
    /// Reads frames until one of that type; others are none of our business, but a close or detach is a refusal.
    void await_frame(unsigned char descriptor) {
        for (;;) {
            const std::string head = read(8);
            std::size_t size = 0;
            for (int i = 0; i < 4; ++i)
                size = size << 8U | static_cast<unsigned char>(head[static_cast<std::size_t>(i)]);
            const std::string body = read(size - 8);
            const auto kind = body.size() > 2 ? static_cast<unsigned char>(body[2]) : 0;
            if (kind == descriptor) return;
            if (kind == 0x16 || kind == 0x17 || kind == 0x18) throw std::runtime_error("AMQP 1.0: refused: " + body);
        }
    }
    void write(const std::string& bytes) {
        if (::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
            throw std::runtime_error("AMQP 1.0: cannot send");
    }
    std::string read(std::size_t size) {
        std::string bytes(size, '\0');
        if (size > 0 && ::recv(socket_, bytes.data(), size, MSG_WAITALL) != static_cast<ssize_t>(size))
            throw std::runtime_error("AMQP 1.0: the broker has closed the connection");
        return bytes;
    }

    int socket_;
};

}  // namespace

// From 4.0 on its AMQP 1.0 refuses it, too.
TEST_CASE("a reply-to that the broker would refuse is set aside: retried, and home", "[since-4.0]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"50ms", "50ms"});
    s.start();
    Worker worker(work);
    Amqp10Sender(broker_address()).send(work, "amq.rabbitmq.reply-to", "x");
    const Received first = worker.receive();
    CHECK(first.properties.reply_to == "amq.rabbitmq.reply-to");
    worker.reject(first);
    for (int attempt = 1; attempt <= 2; ++attempt) {
        const Received back = worker.receive();
        CHECK(back.body == "x");
        CHECK(long_header(back, "retryd-attempt") == attempt);
        CHECK_FALSE(back.properties.reply_to.has_value());
        CHECK(text_header(back, "retryd-reply-to") == "amq.rabbitmq.reply-to");
        worker.reject(back);
    }
    const Received parked = s.take(s.parking_of(work));
    CHECK(text_header(parked, "retryd-reply-to") == "amq.rabbitmq.reply-to");
    CHECK(text_header(parked, "retryd-parked-reason") == "attempts-exhausted");
    s.stop();
    // Not earlier: the log is read twice, and must not grow in between.
    CHECK(s.daemon.lines_with({"warning"}) == s.daemon.lines_with({"warning", "begin to be parked"}));
}
