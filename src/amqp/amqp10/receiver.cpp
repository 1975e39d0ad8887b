#include "amqp/amqp10/receiver.h"

#include <algorithm>
#include <utility>

#include "amqp/amqp10/byte_stream.h"
#include "amqp/error.h"
#include "core/fingerprint.h"
#include "core/safe_text.h"

namespace retryd::amqp::amqp10 {
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
        // the broker takes back what was held all the same
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

std::optional<Held> Receiver::take(core::Milliseconds within) {
    const auto deadline = Clock::now() + within;
    message_.clear();
    write_flow(1);
    while (stream_->readable(
        std::max(std::chrono::duration_cast<core::Milliseconds>(deadline - Clock::now()), core::Milliseconds{0}))) {
        const auto frame = read_frame();
        if (frame->code != Code::transfer || !take_in(*frame)) continue;
        return Held{*id_, describe(message_), digest(message_)};
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

void Receiver::drop(const Held& held) {
    settle(held.id, Code::accepted);
}

void Receiver::reject(const Held& held) {
    settle(held.id, Code::rejected);
}

void Receiver::release(const Held& held) {
    settle(held.id, Code::released);
}

void Receiver::settle(std::uint32_t id, Code state) {
    write(amqp_frame, list(Code::disposition, {boolean(true), number(id), number(id), boolean(true), list(state, {})}));
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
