#include "amqp/connect.h"

#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "amqp/connection.h"
#include "amqp/error.h"
#include "support/catch.h"
#include "support/loopback.h"

namespace {

using retryd::amqp::Server;
using retryd::amqp::why_not_used;

void put(std::string& bytes, std::uint32_t number, int octets) {
    for (int shift = 8 * (octets - 1); shift >= 0; shift -= 8)
        bytes += static_cast<char>(number >> shift);
}

std::string long_text(const std::string& text) {
    std::string bytes;
    put(bytes, static_cast<std::uint32_t>(text.size()), 4);
    return bytes + text;
}

/// connection.start with these texts as its server-properties, as a frame.
std::string start_of(const Server& server) {
    std::string properties;
    for (const auto& [name, text] : {std::pair<std::string, std::string>{"product", server.product},
                                     {"platform", server.platform},
                                     {"version", server.version}}) {
        properties += static_cast<char>(name.size());
        properties += name + 'S' + long_text(text);
    }
    std::string method;
    put(method, 10, 2);  // connection
    put(method, 10, 2);  // start
    put(method, 0x0009, 2);
    method += long_text(properties) + long_text("PLAIN") + long_text("en_US");
    std::string frame;
    put(frame, 1, 1);
    put(frame, 0, 2);
    put(frame, static_cast<std::uint32_t>(method.size()), 4);
    return frame + method + '\xce';
}

/// A server on this machine which greets, and then closes the connection without a word.
class Greeter {
  public:
    explicit Greeter(const Server& server) : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        address_ = retryd::test::loopback(0);
        socklen_t size = sizeof address_;
        auto* const any = reinterpret_cast<sockaddr*>(&address_);
        REQUIRE(::bind(listening_, any, size) == 0);
        REQUIRE(::listen(listening_, 4) == 0);
        REQUIRE(::getsockname(listening_, any, &size) == 0);
        greeting_ = std::thread([this, bytes = start_of(server)] {
            for (int fd = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC); fd >= 0;
                 fd = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC)) {
                char heard[4096];
                if (::recv(fd, heard, sizeof heard, 0) > 0) {
                    ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
                    ::recv(fd, heard, sizeof heard, 0);  // start-ok
                }
                ::close(fd);
            }
        });
    }
    Greeter(const Greeter&) = delete;
    Greeter& operator=(const Greeter&) = delete;
    ~Greeter() {
        ::shutdown(listening_, SHUT_RDWR);
        greeting_.join();
        ::close(listening_);
    }

    retryd::config::Endpoint endpoint() const {
        retryd::config::Endpoint endpoint;
        endpoint.host = "127.0.0.1";
        endpoint.port = ntohs(address_.sin_port);
        return endpoint;
    }

  private:
    int listening_;
    sockaddr_in address_{};
    std::thread greeting_;
};

retryd::amqp::Error refusal_at(const Server& server) {
    const Greeter greeter(server);
    try {
        retryd::amqp::Connection::open(greeter.endpoint(), {}, "retryd test");
    } catch (const retryd::amqp::Error& error) {
        return error;
    }
    throw std::runtime_error("a connection was opened");
}

}  // namespace

TEST_CASE("a server is RabbitMQ if it says so, or runs on Erlang") {
    CHECK(why_not_used({"RabbitMQ", "Erlang/OTP 27.3.4", "4.3.6"}).empty());
    CHECK(why_not_used({"The bus of ours", "Erlang/OTP 25.2.3", "3.10.8"}).empty());
    CHECK(why_not_used({"RabbitMQ", "", "3.13.7-rc.1"}).empty());
}

TEST_CASE("another server is refused by name, whatever its version looks like") {
    const std::string why = why_not_used({"LavinMQ", "Crystal 1.16.3", "2.4.0"});
    CHECK(why.starts_with("is LavinMQ 2.4.0, not RabbitMQ: "));
    CHECK(why.ends_with("; name a RabbitMQ in broker.uri"));
    CHECK(why_not_used({"LavinMQ", "Crystal 1.16.3", "4.3.6"}).starts_with("is LavinMQ 4.3.6"));
    CHECK(why_not_used({"", "", "4.3.6"}).starts_with("does not say what it is, not RabbitMQ"));
    CHECK(why_not_used({"a\nb", "", ""}).find('\n') == std::string::npos);
}

TEST_CASE("a RabbitMQ whose version cannot be read is refused") {
    CHECK(why_not_used({"RabbitMQ", "Erlang/OTP 27", "unknown"})
              .starts_with("is RabbitMQ, but does not say which version ('unknown')"));
    CHECK_FALSE(why_not_used({"RabbitMQ", "Erlang/OTP 27", ""}).empty());
}

TEST_CASE("what a server is counts before what became of the login") {
    const auto other = refusal_at({"LavinMQ", "Crystal 1.16.3", "2.4.0"});
    CHECK(other.kind() == retryd::amqp::Error::Kind::other_server);
    CHECK(std::string{other.what()}.starts_with("the server at 127.0.0.1:"));
    CHECK(std::string{other.what()}.find(" is LavinMQ 2.4.0, not RabbitMQ") != std::string::npos);

    const auto rabbit = refusal_at({"RabbitMQ", "Erlang/OTP 27.3.4", "4.3.6"});
    CHECK(rabbit.kind() == retryd::amqp::Error::Kind::unreachable);
}
