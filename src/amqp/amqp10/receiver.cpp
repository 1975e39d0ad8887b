#include "amqp/amqp10/receiver.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "amqp/connect.h"
#include "amqp/error.h"
#include "amqp/timeouts.h"
#include "amqp/tls_socket.h"
#include "core/fingerprint.h"
#include "core/safe_text.h"

namespace retryd::amqp::amqp10 {

// ── Encoding ────────────────────────────────────────────────────────────────────────────────────────────────────────

namespace {

/// More of them nobody needs; each of 16 MiB of them takes a byte.
constexpr std::uint64_t most_items = 10'000;

std::string big_endian(std::uint64_t value, int bytes) {
    std::string all;
    for (int i = bytes - 1; i >= 0; --i)
        all += static_cast<char>(value >> (8 * i));
    return all;
}

std::uint64_t unsigned_of(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char c : bytes)
        value = value << 8U | static_cast<std::uint8_t>(c);
    return value;
}

std::string sized(char constructor, std::string_view bytes) {
    return constructor + big_endian(bytes.size(), 4) + std::string{bytes};
}

std::optional<std::string_view> take(std::string_view& bytes, std::uint64_t size) {
    if (size > bytes.size()) return std::nullopt;
    const std::string_view taken = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return taken;
}

/// A width, or how many bytes say how many bytes follow: the upper half of the constructor tells (AMQP 1.0, 1.2).
std::optional<std::string_view> take_value(std::string_view& bytes, std::uint8_t constructor) {
    const unsigned kind = constructor >> 4U;
    if (kind < 0x4) return std::nullopt;
    if (kind < 0xa) return take(bytes, kind == 0x4 ? 0 : std::uint64_t{1} << (kind - 5U));
    const auto size = take(bytes, kind % 2 == 0 ? 1 : 4);
    return size ? take(bytes, unsigned_of(*size)) : std::nullopt;
}

}  // namespace

std::string null() {
    return "\x40";
}
std::string boolean(bool value) {
    return value ? "\x41" : "\x42";
}
std::string byte(std::uint8_t value) {
    return '\x50' + big_endian(value, 1);
}
std::string number(std::uint32_t value) {
    return '\x70' + big_endian(value, 4);
}
std::string text(std::string_view value) {
    return sized('\xb1', value);
}
std::string symbol(std::string_view value) {
    return sized('\xb3', value);
}
std::string binary(std::string_view value) {
    return sized('\xb0', value);
}

std::string list(Code code, const std::vector<std::string>& items) {
    std::string all = big_endian(items.size(), 4);
    for (const std::string& item : items)
        all += item;
    return std::string("\0\x53", 2) + static_cast<char>(code) + sized('\xd0', all);
}

std::optional<std::string_view> Item::text() const {
    switch (constructor) {
        case 0xa0:  // binary
        case 0xb0:
        case 0xa1:  // string
        case 0xb1:
        case 0xa3:  // symbol
        case 0xb3:
            return bytes;
        default:
            return std::nullopt;
    }
}

std::optional<std::uint64_t> Item::number() const {
    switch (constructor) {
        case 0x50:  // ubyte
        case 0x60:  // ushort
        case 0x70:  // uint
        case 0x52:  // smalluint
        case 0x43:  // uint0
        case 0x80:  // ulong
        case 0x53:  // smallulong
        case 0x44:  // ulong0
            return unsigned_of(bytes);
        default:
            return std::nullopt;
    }
}

bool Item::is_true() const {
    return constructor == 0x41 || (constructor == 0x56 && bytes == "\1");
}

std::vector<Item> Item::items() const {
    const bool small = constructor == 0xc0 || constructor == 0xc1;
    const bool large = constructor == 0xd0 || constructor == 0xd1;
    std::string_view rest = bytes;
    const auto count = small || large ? take(rest, small ? 1 : 4) : std::nullopt;
    if (!count) return {};
    std::vector<Item> all;
    for (std::uint64_t left = std::min(unsigned_of(*count), most_items); left > 0; --left) {
        const auto item = take_item(rest);
        if (!item) return {};
        all.push_back(*item);
    }
    return all;
}

std::optional<Item> take_item(std::string_view& bytes) {
    const auto constructor = take(bytes, 1);
    if (!constructor) return std::nullopt;
    Item item;
    if (constructor->front() != '\0') {
        item.constructor = static_cast<std::uint8_t>(constructor->front());
        const auto value = take_value(bytes, item.constructor);
        if (!value) return std::nullopt;
        item.bytes = *value;
        return item;
    }
    // Described: by a number or a symbol, never by what is described itself.
    if (bytes.empty() || bytes.front() == '\0') return std::nullopt;
    const auto description = take_item(bytes);
    if (!description || bytes.empty() || bytes.front() == '\0') return std::nullopt;
    auto value = take_item(bytes);
    if (value) value->code = description->number();
    return value;
}

// ── The socket ──────────────────────────────────────────────────────────────────────────────────────────────────────

namespace {

[[noreturn]] void lost(const std::string& why) {
    throw Error(Error::Kind::lost, "the AMQP 1.0 connection was lost: " + why);
}

bool is_for_later(int cause) {
    return cause == EAGAIN || cause == EWOULDBLOCK || cause == EINTR;
}

}  // namespace

/// Bytes to and from a broker over a socket of rabbitmq-c, plain or TLS, on which nobody has logged in by AMQP 0-9-1.
/// Every call throws Error when the connection is lost, and when the broker takes or gives nothing for answer_timeout.
class ByteStream {
  public:
    ByteStream(const config::Endpoint& endpoint, const config::Broker& settings);

    void write(std::string_view bytes);
    std::string read(std::size_t size);
    /// Whether there is something to read, within that time.
    bool readable(core::Milliseconds within);

  private:
    bool take_in();
    bool wait(short events, core::Milliseconds within) const;
    void require(short events) const;

    RawConnection connection_;
    ssl_st* stream_ = nullptr;
    std::string ahead_;  // read already
};

ByteStream::ByteStream(const config::Endpoint& endpoint, const config::Broker& settings)
    : connection_(open_socket(endpoint, settings)),
      stream_(endpoint.tls ? tls_stream(amqp_get_socket(connection_.get())) : nullptr) {}

void ByteStream::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = stream_ != nullptr ? send_through(stream_, bytes)
                                                : send(amqp_get_sockfd(connection_.get()), bytes.data(), bytes.size(),
                                                       MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        } else if (is_for_later(errno)) {
            require(POLLOUT);
        } else {
            lost(std::strerror(errno));
        }
    }
}

/// Takes in what is there. False: nothing is.
bool ByteStream::take_in() {
    constexpr std::size_t at_once = 65'536;
    const std::size_t before = ahead_.size();
    ahead_.resize(before + at_once);
    char* const to = ahead_.data() + before;
    const ssize_t got = stream_ != nullptr ? receive_through(stream_, to, at_once)
                                           : recv(amqp_get_sockfd(connection_.get()), to, at_once, MSG_DONTWAIT);
    const int cause = errno;
    ahead_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0) return true;
    if (got == 0) lost("the broker closed it");
    if (!is_for_later(cause)) lost(std::strerror(cause));
    return false;
}

std::string ByteStream::read(std::size_t size) {
    while (ahead_.size() < size) {
        if (!take_in()) require(POLLIN);
    }
    std::string bytes = ahead_.substr(0, size);
    ahead_.erase(0, size);
    return bytes;
}

bool ByteStream::readable(core::Milliseconds within) {
    return !ahead_.empty() || take_in() || (wait(POLLIN, within) && take_in());
}

bool ByteStream::wait(short events, core::Milliseconds within) const {
    pollfd waiting{amqp_get_sockfd(connection_.get()), events, 0};
    return poll(&waiting, 1, static_cast<int>(within.count())) > 0;
}

void ByteStream::require(short events) const {
    if (!wait(events, answer_timeout))
        lost("the broker has not answered for " + std::to_string(answer_timeout.count() / 1'000) + " s");
}

// ── The receiver ────────────────────────────────────────────────────────────────────────────────────────────────────

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint8_t amqp_frame = 0;
constexpr std::uint8_t sasl_frame = 1;
constexpr std::uint32_t largest_frame = 64 * 1024;
constexpr std::uint32_t window = 1'000'000;  // transfers
constexpr std::uint32_t only_link = 0;
/// What describes a message comes before its body.
constexpr std::size_t kept_of_message = 256 * 1024;
constexpr core::Milliseconds alive_every{1'000};

/// Of a field that may be missing.
const Item& field(const std::vector<Item>& fields, std::size_t index) {
    static const Item none;
    return index < fields.size() ? fields[index] : none;
}

std::uint32_t number_in(const std::vector<Item>& fields, std::size_t index) {
    return static_cast<std::uint32_t>(field(fields, index).number().value_or(0));
}

/// A queue in an address: all but letters and digits by their number.
std::string percent_encoded(std::string_view name) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string text;
    for (const char c : name) {
        const auto byte = static_cast<std::uint8_t>(c);
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (plain) {
            text += c;
        } else {
            text += '%';
            text += digits[byte >> 4U];
            text += digits[byte & 0xfU];
        }
    }
    return text;
}

/// The condition and the description of an error, which is the last field of what ends something.
std::string reason_of(const std::vector<Item>& fields) {
    for (const Item& item : fields) {
        if (item.code != static_cast<std::uint64_t>(Code::error)) continue;
        const auto error = item.items();
        return std::string{field(error, 0).text().value_or("")} + ' ' +
               std::string{field(error, 1).text().value_or("")};
    }
    return "without a reason";
}

[[noreturn]] void refused(const std::string& why) {
    throw Error(Error::Kind::refused, "the broker refuses an AMQP 1.0 receiver: " + core::safe_line(why));
}

void keep(std::string& where, const Item& value) {
    if (where.empty()) where = value.text().value_or("");
}

void read_annotations(const std::vector<Item>& pairs, Description& description) {
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
        const auto name = pairs[i].text().value_or("");
        if (name == "x-first-death-exchange") keep(description.exchange, pairs[i + 1]);
        if (name == "x-first-death-queue") keep(description.queue, pairs[i + 1]);
    }
}

}  // namespace

Description describe(std::string_view message) {
    Description description;
    while (const auto part = take_item(message)) {
        const auto fields = part->items();
        if (part->code == static_cast<std::uint64_t>(Code::properties)) {
            keep(description.message_id, field(fields, 0));
            keep(description.user_id, field(fields, 1));
            keep(description.content_type, field(fields, 6));
        } else {
            read_annotations(fields, description);
        }
        if (part->code == static_cast<std::uint64_t>(Code::application_properties)) break;
    }
    return description;
}

std::uint64_t digest(std::string_view message) {
    std::string same;
    while (!message.empty()) {
        const std::string_view before = message;
        const auto part = take_item(message);
        if (!part || part->code == static_cast<std::uint64_t>(Code::properties)) {
            same += before;
            break;
        }
        if (part->code != static_cast<std::uint64_t>(Code::message_annotations)) continue;
        const auto pairs = part->items();
        for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
            const auto name = pairs[i].text().value_or("");
            if (name.find("count") == std::string_view::npos) same.append(name).append(pairs[i + 1].bytes);
        }
    }
    return core::fnv1a(same);
}

Receiver::Receiver(const config::Endpoint& endpoint, const config::Broker& settings, const core::BrokerVersion& version,
                   const std::string& queue)
    : stream_(std::make_unique<ByteStream>(endpoint, settings)) {
    log_in(endpoint, settings);
    attach(endpoint, version, queue);
}

Receiver::~Receiver() {
    try {
        finish();
    } catch (const Error&) {
        // the broker takes back what was taken all the same
    }
}

// ── The link ────────────────────────────────────────────────────────────────────────────────────────────────────

void Receiver::greet(std::uint8_t protocol) {
    const std::string header = std::string("AMQP") + static_cast<char>(protocol) + std::string("\1\0\0", 3);
    stream_->write(header);
    if (stream_->read(header.size()) != header)
        throw Error(Error::Kind::protocol, "the broker speaks no AMQP 1.0 on this port");
}

void Receiver::log_in(const config::Endpoint& endpoint, const config::Broker& settings) {
    constexpr std::uint8_t sasl = 3;
    const bool external = settings.auth_mechanism == config::AuthMechanism::external;
    const std::string nul(1, '\0');
    greet(sasl);
    await(Code::sasl_mechanisms);
    write(sasl_frame, list(Code::sasl_init, {symbol(external ? "EXTERNAL" : "PLAIN"),
                                             binary(external ? "" : nul + endpoint.username + nul + endpoint.password),
                                             text("vhost:" + endpoint.vhost)}));
    const auto outcome = await(Code::sasl_outcome);
    if (number_in(outcome->fields, 0) != 0) refused("its login fails");
    greet(0);
}

void Receiver::attach(const config::Endpoint& endpoint, const core::BrokerVersion& version, const std::string& queue) {
    const bool native = core::features_of(version).speaks_amqp_1_0;
    const std::string address = native ? "/queues/" + percent_encoded(queue) : "/amq/queue/" + queue;
    write(amqp_frame,
          list(Code::open, {text("retryd parked"), text("vhost:" + endpoint.vhost), number(largest_frame)}));
    await(Code::open);
    write(amqp_frame, list(Code::begin, {null(), number(0), number(window), number(window)}));
    next_incoming_ = number_in(await(Code::begin)->fields, 1);
    const std::string from = list(Code::source, {text(address)});
    const std::string to = list(Code::target, {});
    write(amqp_frame,
          list(Code::attach, {text("parked"), number(only_link), boolean(true), byte(0), byte(0), from, to}));
    delivery_count_ = number_in(await(Code::attach)->fields, 9);
}

std::optional<Taken> Receiver::take(core::Milliseconds within) {
    const auto deadline = Clock::now() + within;
    message_.clear();
    write_flow(1);
    while (stream_->readable(
        std::max(std::chrono::duration_cast<core::Milliseconds>(deadline - Clock::now()), core::Milliseconds{0}))) {
        const auto frame = read_frame();
        if (frame->code != Code::transfer || !take_in(*frame)) continue;
        return Taken{*id_, describe(message_), digest(message_)};
    }
    return std::nullopt;
}

/// True once all of the message is there.
bool Receiver::take_in(const Frame& frame) {
    ++next_incoming_;
    if (message_.empty()) id_ = number_in(frame.fields, 1);
    message_.append(frame.rest.substr(0, kept_of_message - std::min(kept_of_message, message_.size())));
    if (field(frame.fields, 5).is_true()) return false;
    ++delivery_count_;
    return true;
}

void Receiver::write_flow(std::uint32_t credit) {
    write(amqp_frame, list(Code::flow, {number(next_incoming_), number(window), number(0), number(window),
                                        number(only_link), number(delivery_count_), number(credit)}));
}

void Receiver::drop(const Taken& first, const Taken& last) {
    settle(first.id, last.id, Code::accepted);
}

void Receiver::reject(const Taken& first, const Taken& last) {
    settle(first.id, last.id, Code::rejected);
}

void Receiver::release(const Taken& message) {
    settle(message.id, message.id, Code::released);
}

void Receiver::settle(std::uint32_t first, std::uint32_t last, Code state) {
    write(amqp_frame,
          list(Code::disposition, {boolean(true), number(first), number(last), boolean(true), list(state, {})}));
}

void Receiver::serve() {
    while (stream_->readable(core::Milliseconds{0}))
        read_frame();
    if (Clock::now() - written_ >= alive_every) write(amqp_frame, "");
}

void Receiver::finish() {
    if (std::exchange(closing_, true)) return;
    write(amqp_frame, list(Code::close, {}));
    await(Code::close);
}

void Receiver::abandon() {
    closing_ = true;
    stream_.reset();
}

// ── Frames ──────────────────────────────────────────────────────────────────────────────────────────────────────

void Receiver::write(std::uint8_t type, const std::string& performative) {
    constexpr std::uint8_t data_offset = 2;
    const auto size = static_cast<std::uint32_t>(performative.size() + 8);
    std::string frame;
    for (int shift = 24; shift >= 0; shift -= 8)
        frame += static_cast<char>(size >> static_cast<unsigned>(shift));
    frame += static_cast<char>(data_offset);
    frame += static_cast<char>(type);
    frame += std::string(2, '\0');  // the only channel
    stream_->write(frame + performative);
    written_ = Clock::now();
}

/// With an empty one its code is none of those that are waited for.
std::unique_ptr<Receiver::Frame> Receiver::read_frame() {
    const std::string head = stream_->read(8);
    std::uint32_t size = 0;
    for (std::size_t i = 0; i < 4; ++i)
        size = size << 8U | static_cast<std::uint8_t>(head[i]);
    const std::size_t offset = 4 * std::size_t{static_cast<std::uint8_t>(head[4])};
    if (size < offset || offset < 8 || size > 16 * largest_frame)
        throw Error(Error::Kind::protocol, "the broker has sent a frame of AMQP 1.0 that makes no sense");
    auto frame = std::make_unique<Frame>();
    frame->bytes = stream_->read(size - 8);
    frame->rest = std::string_view{frame->bytes}.substr(offset - 8);
    if (frame->rest.empty()) return frame;
    const auto performative = take_item(frame->rest);
    if (!performative || !performative->code)
        throw Error(Error::Kind::protocol, "the broker has sent a frame of AMQP 1.0 that makes no sense");
    frame->code = static_cast<Code>(*performative->code);
    frame->fields = performative->items();
    const bool ends = frame->code == Code::detach || frame->code == Code::end || frame->code == Code::close;
    if (ends && !closing_) refused(reason_of(frame->fields));
    return frame;
}

std::unique_ptr<Receiver::Frame> Receiver::await(Code code) {
    for (;;) {
        auto frame = read_frame();
        if (frame->code == code) return frame;
    }
}

}  // namespace retryd::amqp::amqp10
