// src/amqp's Connection against a real broker, without the flow.
#include "amqp/connection.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "amqp/declarer.h"
#include "amqp/error.h"
#include "core/topology.h"
#include "support/catch.h"
#include "support/environment.h"
#include "support/machine.h"
#include "support/tcp_relay.h"

using namespace retryd;
using amqp::Declarer;
using Result = Declarer::Result;

namespace {

constexpr amqp::Channel message_channel = 1;
constexpr amqp::Channel declare_channel = 2;
constexpr std::chrono::seconds answer_time{60};

config::Endpoint endpoint(const test::Address& address = test::broker_address()) {
    return {address.host, address.port, false, address.vhost, address.user, address.password};
}

std::string unique_name() {
    static int count = 0;
    return "connection-test-" + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()) + '-' +
           std::to_string(++count);
}

/// One connection that publishes, consumes and declares.
class Session : public amqp::Events {
  public:
    struct Received {
        core::DeliveryTag tag;
        std::string body;
        std::string message_id;
    };

    explicit Session(const config::Endpoint& to = endpoint(), const config::Broker& settings = {})
        : connection(amqp::Connection::open(to, settings, "connection-test")),
          declarer(*connection, declare_channel, declare_channel) {
        connection->open_channel(message_channel);
        connection->confirm_select(message_channel);
        await([this] { return open; });
    }
    ~Session() override { connection->close(core::Milliseconds{1000}); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    template <typename Condition>
    void await(Condition condition) {
        const auto deadline = std::chrono::steady_clock::now() + answer_time;
        while (!condition()) {
            REQUIRE(std::chrono::steady_clock::now() < deadline);
            pollfd waiting{connection->fd(), POLLIN, 0};
            poll(&waiting, 1, 100);
            while (connection->drain(*this, 10)) {
            }
        }
    }

    Declarer::Outcome carry_out(Declarer::Step step) {
        std::optional<Declarer::Outcome> outcome;
        declarer.submit(std::move(step), [&](const Declarer::Outcome& told) { outcome = told; });
        await([&] { return outcome.has_value(); });
        return *outcome;
    }

    /// A classic queue that the broker deletes after two minutes without use.
    std::string new_queue() {
        const std::string name = unique_name();
        const auto outcome = carry_out(core::QueueSpec{name, temporary(), {}});
        INFO(outcome.text);
        REQUIRE(outcome.result == Result::done);
        return name;
    }
    static core::Arguments temporary() {
        return {{"x-queue-type", std::string{"classic"}}, {"x-expires", std::int64_t{120'000}}};
    }

    /// Waits for room where the socket is full.
    void publish(const std::string& queue, std::string_view body, const core::Properties& properties = {}) {
        auto result = relay::PublishResult::would_block;
        await([&] {
            result = connection->publish(message_channel, {"", queue, {properties, body}});
            return result != relay::PublishResult::would_block;
        });
        REQUIRE(result == relay::PublishResult::sent);
        ++published;
    }
    void await_confirms() {
        await([this] { return confirmed == published; });
    }

    void on_channel_open(amqp::Channel channel) override {
        if (channel == message_channel) open = true;
        declarer.on_channel_open(channel);
    }
    void on_declared(amqp::Channel channel, const amqp::QueueCounts& counts) override {
        declarer.on_declared(channel, counts);
    }
    void on_channel_closed(const amqp::ChannelClosed& closed) override {
        if (closed.channel == message_channel) closed_with = closed.code;
        declarer.on_channel_closed(closed);
    }
    void on_confirm(amqp::Channel, relay::PublishSeq seq, bool multiple, bool acked) override {
        all_acked = all_acked && acked;
        confirmed = multiple ? seq : confirmed + 1;
    }
    void on_returned(const amqp::Returned& message) override { returned.emplace_back(message.routing_key); }
    void on_delivery(const core::Delivery& delivery) override {
        received.push_back({delivery.tag, std::string{delivery.message.body},
                            std::string{delivery.message.properties.message_id.value_or("")}});
    }
    void on_unreadable_delivery(core::DeliveryTag tag) override {
        unreadable.push_back(tag);
        connection->reject(message_channel, tag);
    }
    void on_consume_ok() override { consuming = true; }
    void on_consumer_cancelled() override { cancelled = true; }

    std::unique_ptr<amqp::Connection> connection;
    Declarer declarer;
    bool open = false;
    bool consuming = false;
    bool cancelled = false;
    bool all_acked = true;
    int closed_with = 0;
    std::uint64_t published = 0;
    std::uint64_t confirmed = 0;
    std::vector<std::string> returned;
    std::vector<Received> received;
    std::vector<core::DeliveryTag> unreadable;
};

/// Headers with nested tables; `levels` includes the header table itself.
class Nest {
  public:
    explicit Nest(int levels) {
        fields_.push_back({"innermost", core::Value::of_long(1)});
        for (int level = 1; level < levels; ++level)
            fields_.push_back({"in", {core::Kind::table, core::Table{&fields_.back(), 1}}});
    }
    core::Properties properties() const {
        core::Properties nested;
        nested.headers = core::Table{&fields_.back(), 1};
        return nested;
    }

  private:
    std::deque<core::Field> fields_;
};

}  // namespace

TEST_CASE("connection: the broker's version is known", "[3.8]") {
    Session session;
    CHECK(session.connection->version() >= core::BrokerVersion{3, 8, 0});
}

TEST_CASE("connection: bodies of no byte, a full frame and 8 MiB go out confirmed and come back whole", "[3.8]") {
    Session session;
    const std::string queue = session.new_queue();
    std::string large(std::size_t{8} << 20, 'x');
    for (std::size_t i = 0; i < large.size(); i += 997)
        large[i] = static_cast<char>(i);
    const std::string full_frame(131072 - 8, 'f');
    core::Properties properties;
    properties.message_id = "id";
    for (const std::string_view body :
         {std::string_view{}, std::string_view{full_frame}, std::string_view{large}, std::string_view{"last"}})
        session.publish(queue, body, properties);
    session.await_confirms();
    CHECK(session.all_acked);

    session.connection->qos(message_channel, 100);
    session.connection->consume(message_channel, queue, "tag");
    session.await([&] { return session.received.size() == 4; });
    CHECK(session.consuming);
    CHECK(session.received[0].body.empty());
    CHECK(session.received[1].body == full_frame);
    CHECK((session.received[2].body == large));
    CHECK(session.received[3].body == "last");
    for (const auto& received : session.received)
        CHECK(received.message_id == "id");
    session.connection->ack(message_channel, session.received.back().tag, true);
}

TEST_CASE("connection: an unroutable message is returned before it is confirmed") {
    Session session;
    session.publish("no-such-queue", "body");
    session.await_confirms();
    CHECK(session.returned == std::vector<std::string>{"no-such-queue"});
}

TEST_CASE("connection: a body that fills its last frame is not held back", "[one-version]") {
    Session session;
    const std::string queue = session.new_queue();
    const std::string full_frame(131072 - 8, 'f');
    session.publish(queue, full_frame);
    session.await_confirms();
    // The quickest of many: a busy machine delays some of them, while TCP would delay each.
    constexpr test::milliseconds quick{100};  // 200 ms if it waits for a TCP ack
    test::milliseconds quickest = test::patience;
    for (int i = 0; i < 100 && quickest >= quick; ++i) {
        const test::Clock::time_point start = test::Clock::now();
        session.publish(queue, full_frame);
        session.await_confirms();
        quickest = std::min(quickest, test::since(start));
    }
    CHECK(quickest < quick);
}

TEST_CASE("connection: headers that do not fit a frame are refused before anything is sent, and the next goes out",
          "[one-version]") {
    Session session;
    const std::string queue = session.new_queue();
    const std::string text(131072, 't');
    const core::Field field{"large", core::Value::of_longstr(text)};
    core::Publication publication{"", queue, {}};
    publication.message.properties.headers = core::Table{&field, 1};
    CHECK(session.connection->publish(message_channel, publication) == relay::PublishResult::header_too_large);
    session.publish(queue, "next");
    session.await_confirms();
    CHECK(session.all_acked);
}

TEST_CASE("connection: a rejected message goes to the dead-letter exchange, a nacked one comes again") {
    Session session;
    const std::string dead = session.new_queue();
    const std::string queue = unique_name();
    core::Arguments arguments = Session::temporary();
    arguments.emplace_back("x-dead-letter-exchange", "");
    arguments.emplace_back("x-dead-letter-routing-key", dead);
    REQUIRE(session.carry_out(core::QueueSpec{queue, arguments, {}}).result == Result::done);
    session.publish(queue, "message");
    session.connection->consume(message_channel, queue, "work");
    session.await([&] { return session.received.size() == 1; });
    session.connection->nack_requeue(message_channel, session.received[0].tag);
    session.await([&] { return session.received.size() == 2; });
    session.connection->reject(message_channel, session.received[1].tag);
    session.connection->consume(message_channel, dead, "dead");
    session.await([&] { return session.received.size() == 3; });
    CHECK(session.received[2].body == "message");
}

TEST_CASE("connection: a header of too many levels is settled without being read") {
    const std::string queue = unique_name();
    {
        Session session;
        const std::string dead = session.new_queue();
        core::Arguments arguments = Session::temporary();
        arguments.emplace_back("x-dead-letter-exchange", "");
        arguments.emplace_back("x-dead-letter-routing-key", dead);
        REQUIRE(session.carry_out(core::QueueSpec{queue, arguments, {}}).result == Result::done);
        session.publish(queue, "deep", Nest(3000).properties());
        session.await_confirms();
        try {
            session.connection->consume(message_channel, queue, "work");
            session.await([&] { return session.unreadable.size() == 1; });
        } catch (const amqp::Error& error) {
            CHECK(error.kind() ==
                  amqp::Error::Kind::set_aside_unread);  // rabbitmq-c 0.14 and later cannot go on after it
        }
        CHECK(session.unreadable.size() == 1);
    }
    Session next;
    next.publish(queue, "readable");
    next.connection->consume(message_channel, queue, "work");
    next.await([&] { return next.received.size() == 1; });
    CHECK(next.received[0].body == "readable");
    CHECK(next.unreadable.empty());
}

namespace {

/// The body of the first message that can be read. The settlement of an unreadable one may be lost with the connection;
/// then it is delivered and settled once more.
std::string first_readable_of(const std::string& queue) {
    for (int tries = 0; tries < 10; ++tries) {
        Session session;
        try {
            session.connection->consume(message_channel, queue, "dead");
            session.await([&] { return session.received.size() == 1; });
            return session.received[0].body;
        } catch (const amqp::Error&) {
        }
    }
    return "(it comes again and again)";
}

}  // namespace

TEST_CASE("connection: a message whose header outgrew a frame by dead-lettering is settled without being read") {
    Session session;
    const std::string final_queue = session.new_queue();
    const std::string dead = unique_name();
    core::Arguments to_final = Session::temporary();
    to_final.emplace_back("x-dead-letter-exchange", "");
    to_final.emplace_back("x-dead-letter-routing-key", final_queue);
    REQUIRE(session.carry_out(core::QueueSpec{dead, to_final, {}}).result == Result::done);
    const std::string queue = unique_name();
    core::Arguments to_dead = Session::temporary();
    to_dead.emplace_back("x-dead-letter-exchange", "");
    to_dead.emplace_back("x-dead-letter-routing-key", dead);
    REQUIRE(session.carry_out(core::QueueSpec{queue, to_dead, {}}).result == Result::done);

    const std::string text(131072 - 100, 't');
    const core::Field field{"large", core::Value::of_longstr(text)};
    core::Properties properties;
    properties.headers = core::Table{&field, 1};
    session.publish(queue, "outgrown", properties);
    session.publish(queue, "fine");
    session.await_confirms();
    session.connection->consume(message_channel, queue, "work");
    session.await([&] { return session.received.size() == 2; });
    session.connection->reject(message_channel, session.received[0].tag);
    session.connection->reject(message_channel, session.received[1].tag);

    CHECK_THROWS_AS(
        [&] {
            session.connection->consume(message_channel, dead, "dead");
            session.await([] { return false; });
        }(),
        amqp::Error);
    CHECK(session.unreadable.size() == 1);
    CHECK(first_readable_of(dead) == "fine");
}

TEST_CASE("connection: publishing to a broker that has gone silent ends, although the connection stays up",
          "[one-version]") {
    test::TcpRelay network(test::broker_address());
    network.open();
    config::Broker settings;
    settings.heartbeat = std::chrono::seconds(1);
    Session session(endpoint(network.address()), settings);
    network.hold();
    // If it waited for ever, this would end it, too late for the check at the end.
    std::promise<void> over;
    std::thread guard([&network, ended = over.get_future()] {
        if (ended.wait_for(answer_time / 2) == std::future_status::timeout) network.cut();
    });
    const test::Machine machine;
    const auto start = test::Clock::now();
    std::string failure;
    while (failure.empty()) {
        try {
            session.connection->publish(message_channel, {"", "no-such-queue", {{}, "body"}});
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        } catch (const amqp::Error& error) {
            failure = error.what();
        }
    }
    over.set_value();
    guard.join();
    CHECK(failure.find("nothing was heard from the broker") != std::string::npos);
    CHECK(test::since(start) < test::milliseconds(3'000) + machine.slack());
}

TEST_CASE("connection: a deleted queue is told by a cancel") {
    Session session;
    const std::string queue = unique_name();
    core::Arguments arguments{{"x-queue-type", std::string{"classic"}}};
    REQUIRE(session.carry_out(core::QueueSpec{queue, arguments, {}}).result == Result::done);
    session.connection->consume(message_channel, queue, "work");
    session.await([&] { return session.consuming; });
    test::Client(test::broker_address()).delete_queue(queue);
    session.await([&] { return session.cancelled; });
}

TEST_CASE("connection: a closed channel can be opened again") {
    Session session;
    session.connection->ack(message_channel, 77, false);
    session.await([&] { return session.closed_with == 406; });
    session.open = false;
    session.connection->open_channel(message_channel);
    session.await([&] { return session.open; });
}

TEST_CASE("connection: the declarer tells what is refused, missing and lacking, and goes on") {
    Session session;
    const std::string queue = unique_name();
    core::QueueSpec spec{queue, Session::temporary(), {}};
    CHECK(session.carry_out(Declarer::CheckQueue{queue}).result == Result::missing);
    CHECK(session.carry_out(spec).result == Result::done);
    CHECK(session.carry_out(Declarer::CheckQueue{queue}).result == Result::done);
    spec.arguments.emplace_back("x-message-ttl", std::int64_t{5000});
    const auto refused = session.carry_out(spec);
    CHECK(refused.result == Result::refused);
    CHECK(refused.text.find("with another x-message-ttl: none instead of 5000") != std::string::npos);
    spec.optional_arguments = {"x-message-ttl"};
    const auto lacking = session.carry_out(spec);
    CHECK(lacking.result == Result::done);
    CHECK(lacking.text == "queue '" + queue + "' was made without x-message-ttl");
    CHECK(session.carry_out(core::ExchangeSpec{"amq.fanout", "fanout", {}}).result == Result::done);
    CHECK(session.carry_out(core::ExchangeSpec{"amq.direct", "fanout", {}}).result == Result::refused);
    CHECK(session.carry_out(core::ForeignExchange{"amq.direct"}).result == Result::done);
    CHECK(session.carry_out(core::ForeignExchange{"no-such-exchange"}).result == Result::refused);
    CHECK(session.carry_out(Declarer::CheckExchange{"no-such-exchange"}).result == Result::missing);
}

TEST_CASE(
    "connection: the declarer binds with a routing key or with arguments, and tells whether queue or exchange is "
    "missing") {
    Session session;
    const std::string queue = session.new_queue();
    const core::Arguments arguments{{"x-match", "all"}, {"retryd-queue", queue}};
    CHECK(session.carry_out(core::BindingSpec{queue, "amq.direct", "key", {}}).result == Result::done);
    CHECK(session.carry_out(core::BindingSpec{queue, "amq.headers", "", arguments}).result == Result::done);
    CHECK(session.carry_out(core::BindingSpec{"no-such-queue", "amq.direct", "key", {}}).result == Result::missing);
    CHECK(session.carry_out(core::BindingSpec{queue, "no-such-exchange", "key", {}}).result == Result::refused);

    const core::Field header{"retryd-queue", core::Value::of_longstr(queue)};
    core::Properties properties;
    properties.headers = core::Table{&header, 1};
    REQUIRE(session.connection->publish(message_channel, {"amq.headers", "any.key", {properties, "x"}}) ==
            relay::PublishResult::sent);
    session.connection->consume(message_channel, queue, "work");
    session.await([&] { return session.received.size() == 1; });
}

TEST_CASE("connection: the declarer deletes what is idle and counts what it looks at", "[one-version]") {
    Session session;
    const std::string queue = session.new_queue();
    session.publish(queue, "message");
    session.await_confirms();
    CHECK(session.carry_out(Declarer::CheckQueue{queue}).counts.messages == 1);
    CHECK(session.carry_out(Declarer::DeleteQueue{queue, true}).result == Result::refused);
    CHECK(session.carry_out(Declarer::DeleteQueue{queue, false}).result == Result::done);
    CHECK(session.carry_out(Declarer::CheckQueue{queue}).result == Result::missing);
}

TEST_CASE("connection: what cannot be reached or entered is told in an operator's words", "[one-version]") {
    const auto failure = [](const config::Endpoint& to) {
        try {
            config::Broker settings;
            settings.connect_timeout = answer_time;  // a busy broker takes a while to refuse somebody
            amqp::Connection::open(to, settings, "connection-test");
        } catch (const amqp::Error& error) {
            return error;
        }
        FAIL("connected");
        throw std::logic_error("unreachable");
    };
    config::Endpoint closed = endpoint();
    closed.port = 1;
    CHECK(failure(closed).kind() == amqp::Error::Kind::unreachable);
    CHECK(std::string{failure(closed).what()}.find("Connection refused") != std::string::npos);

    config::Endpoint unknown = endpoint();
    unknown.host = "no-such-host.invalid";
    CHECK(failure(unknown).kind() == amqp::Error::Kind::unreachable);

    config::Endpoint wrong_password = endpoint();
    wrong_password.password = "not-the-password";
    CHECK(failure(wrong_password).kind() == amqp::Error::Kind::refused_login);
    CHECK(std::string{failure(wrong_password).what()}.find("not-the-password") == std::string::npos);

    config::Endpoint wrong_vhost = endpoint();
    wrong_vhost.vhost = "no-such-vhost";
    CHECK(failure(wrong_vhost).kind() == amqp::Error::Kind::refused_login);
}
