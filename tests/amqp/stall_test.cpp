// The other side does not read while a body larger than any buffer goes out: no call waits, the loop hears what comes
// meanwhile, and when the other side reads on, the body is whole and what was sent after it comes after it.
#include <string>
#include <vector>

#include "amqp/connection.h"
#include "amqp/peer.h"
#include "amqp/recorder.h"
#include "amqp/tls_peer.h"
#include "amqp/tls_socket.h"
#include "support/await.h"
#include "support/catch.h"

namespace retryd::amqp::stall_test {
namespace {

using relay::PublishResult;
using Lines = std::vector<std::string>;
using test::milliseconds;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

struct Plain {
    test::Peer peer;
    Connection connection{peer.take_connection(), "broker", Socket::plain};

    void send_raw(std::string_view bytes) { peer.send_raw(bytes); }
    std::string received() {
        std::string all;
        for (std::string part = peer.received_raw(); !part.empty(); part = peer.received_raw())
            all += part;
        return all;
    }
};

struct Secured {
    test::TlsPeer peer;
    RawConnection raw = peer.take_connection();
    ssl_st* stream = tls_stream(amqp_get_socket(raw.get()));
    Connection connection{std::move(raw), "broker", Socket::secured, stream};

    void send_raw(std::string_view bytes) { peer.send_raw(bytes); }
    std::string received() { return peer.received_raw(); }
};

struct WireFrame {
    int type = 0;
    int channel = 0;
    std::string_view payload;
};

std::size_t number(std::string_view bytes) {
    std::size_t value = 0;
    for (const char byte : bytes)
        value = value << 8 | static_cast<unsigned char>(byte);
    return value;
}

/// Fails the test where the bytes are anything but whole frames.
std::vector<WireFrame> frames_in(std::string_view bytes) {
    std::vector<WireFrame> frames;
    while (!bytes.empty()) {
        REQUIRE(bytes.size() >= 8);
        const std::size_t size = number(bytes.substr(3, 4));
        REQUIRE(bytes.size() >= size + 8);
        REQUIRE(bytes[size + 7] == '\xce');
        frames.push_back({bytes[0], static_cast<int>(number(bytes.substr(1, 2))), bytes.substr(7, size)});
        bytes.remove_prefix(size + 8);
    }
    return frames;
}

/// Those frames are one message after the other: its method, its header, its body.
std::string take_message(std::vector<WireFrame>& frames) {
    REQUIRE(frames.size() >= 2);
    REQUIRE(frames[0].type == AMQP_FRAME_METHOD);
    REQUIRE(number(frames[0].payload.substr(0, 4)) == AMQP_BASIC_PUBLISH_METHOD);
    REQUIRE(frames[1].type == AMQP_FRAME_HEADER);
    const std::size_t size = number(frames[1].payload.substr(4, 8));
    std::string body;
    std::size_t taken = 2;
    for (; body.size() < size; ++taken) {
        REQUIRE(taken < frames.size());
        REQUIRE(frames[taken].type == AMQP_FRAME_BODY);
        REQUIRE(frames[taken].channel == frames[0].channel);
        body += frames[taken].payload;
    }
    frames.erase(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(taken));
    return body;
}

std::string body_of(std::size_t size) {
    std::string body(size, '.');
    for (std::size_t i = 0; i < size; i += 997)
        body[i] = static_cast<char>(i / 997);
    return body;
}

PublishResult publish(Connection& connection, std::string_view body) {
    return connection.publish(1, {"errors", "key", {{}, body}});
}

std::string blocked_frame() {
    FrameBuffer frames(4096);
    amqp_connection_blocked_t blocked{bytes_of("low on memory")};
    REQUIRE(frames.add_method(0, AMQP_CONNECTION_BLOCKED_METHOD, &blocked) == AMQP_STATUS_OK);
    return std::string{frames.bytes()};
}

template <typename Side>
std::string read_on(Side& f) {
    std::string all;
    test::Recorder events;
    CHECK(test::await([&] {
        all += f.received();
        f.connection.drain(events, 10);
        return !f.connection.gathered();
    }));
    // The last of it may still be on its way.
    std::size_t before = 0;
    do {
        before = all.size();
        test::await([] { return false; }, milliseconds(20));
        all += f.received();
    } while (all.size() != before);
    return all;
}

}  // namespace

TEMPLATE_TEST_CASE(
    "stalled: a body that the other side does not read is left, heard is what comes meanwhile, and it "
    "arrives whole",
    "", Plain, Secured) {
    TestType f;
    test::Recorder events;
    const std::string body = body_of(8 * mebibyte);
    CHECK(publish(f.connection, "before") == PublishResult::sent);
    CHECK(publish(f.connection, body) == PublishResult::sent);
    CHECK(f.connection.stalled());
    CHECK(publish(f.connection, "not yet") == PublishResult::would_block);
    f.connection.check_queue(2, "meanwhile");
    f.send_raw(blocked_frame());
    CHECK(test::await([&] {
        f.connection.drain(events, 10);
        return !events.lines.empty();
    }));
    CHECK(events.lines == Lines{"blocked: low on memory"});
    CHECK(f.connection.stalled());

    const std::string all = read_on(f);
    std::vector<WireFrame> frames = frames_in(all);
    CHECK(take_message(frames) == "before");
    CHECK((take_message(frames) == body));
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].channel == 2);
    CHECK(number(frames[0].payload.substr(0, 4)) == AMQP_QUEUE_DECLARE_METHOD);

    CHECK(publish(f.connection, "after") == PublishResult::sent);
    const std::string rest = read_on(f);
    frames = frames_in(rest);
    CHECK(take_message(frames) == "after");
    CHECK(frames.empty());
}

TEMPLATE_TEST_CASE(
    "stalled: small messages, large ones and methods in turn arrive in order, whatever the other side reads", "", Plain,
    Secured) {
    TestType f;
    std::string all;
    std::vector<std::string> bodies;
    for (std::size_t i = 0; i < 200; ++i) {
        const std::string body = body_of(i % 3 == 0 ? 1000 : i * 1500);
        while (publish(f.connection, body) != PublishResult::sent) {
            all += f.received();
            f.connection.flush();
        }
        bodies.push_back(body);
        if (i % 7 == 0) f.connection.check_queue(2, "q");
    }
    all += read_on(f);
    std::vector<WireFrame> frames = frames_in(all);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        CAPTURE(i);
        REQUIRE((take_message(frames) == bodies[i]));
        if (i % 7 != 0) continue;
        REQUIRE(!frames.empty());
        REQUIRE(frames[0].channel == 2);
        frames.erase(frames.begin());
    }
    CHECK(frames.empty());
}

TEST_CASE("stalled: no heartbeat comes between the parts of a body") {
    test::Peer peer;
    RawConnection raw = peer.take_connection();
    amqp_tune_connection(raw.get(), 0, static_cast<int>(peer.frame_max()), 1);
    Connection connection(std::move(raw), "broker", Socket::plain);
    const std::string body = body_of(2 * mebibyte);
    publish(connection, body);
    REQUIRE(connection.stalled());
    test::Recorder events;
    std::string all;
    const auto read_and_write = [&] {
        peer.send_raw({"\x08\0\0\0\0\0\0\xce", 8});  // on a busy machine two of them may pass, which is the end
        connection.drain(events, 10);                // for more than a heartbeat
        all += peer.received_raw();
        return false;
    };
    test::await(read_and_write, milliseconds(1500), milliseconds(5));
    while (connection.gathered()) {
        all += peer.received_raw();
        connection.flush();
    }
    for (std::string part = peer.received_raw(); !part.empty(); part = peer.received_raw())
        all += part;
    std::vector<WireFrame> frames = frames_in(all);
    while (!frames.empty() && frames.front().type == AMQP_FRAME_HEARTBEAT)
        frames.erase(frames.begin());  // before it they may come
    CHECK((take_message(frames) == body));
    for (const WireFrame& frame : frames)
        CHECK(frame.type == AMQP_FRAME_HEARTBEAT);
}

TEST_CASE("stalled: what is left tells of bytes that are to be sent, and of those the other side has") {
    Plain f;
    CHECK(f.connection.queued() == 0);
    publish(f.connection, body_of(mebibyte));
    const std::uint64_t queued = f.connection.queued();
    CHECK(queued > mebibyte);
    CHECK(f.connection.taken() < queued);
    read_on(f);
    CHECK(f.connection.queued() == queued);
    CHECK(f.connection.taken() == queued);
}

TEST_CASE("stalled: goodbye is not said in the middle of a body") {
    Plain f;
    publish(f.connection, body_of(mebibyte));
    f.connection.close(core::Milliseconds{1});
    for (const std::string all = f.received(); const char byte : all.substr(all.size() - 100))
        CHECK(byte != '\xce');
}

}  // namespace retryd::amqp::stall_test
