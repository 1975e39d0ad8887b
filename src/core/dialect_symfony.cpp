// Symfony Messenger's failure transport. Read from symfony/messenger 7.1:
// SendFailedMessageToFailureTransportListener.php (which messages; it leaves out what carries a
// SentToFailureTransportStamp already, so such a message would be lost the second time),
// SendFailedMessageForRetryListener.php, Serialization/Serializer.php (a header X-Message-Stamp-CLASS for each class of
// stamps), Serialization/PhpSerializer.php (all of it in the body, addslashes(serialize()), base64 where that is no
// UTF-8), ErrorDetailsStamp.php; symfony/amqp-messenger 7.0: AmqpSender.php and AmqpStamp.php (createFromAmqpEnvelope:
// properties and headers as delivered, the queue's name as the routing key).
#include <charconv>

#include "core/dialects.h"
#include "core/json.h"

namespace retryd::core {
namespace {

constexpr std::string_view stamp_header = "X-Message-Stamp-";
constexpr std::string_view sent_to_failure = "Symfony\\Component\\Messenger\\Stamp\\SentToFailureTransportStamp";
constexpr std::string_view error_details = "Symfony\\Component\\Messenger\\Stamp\\ErrorDetailsStamp";
constexpr std::string_view redelivery = "Symfony\\Component\\Messenger\\Stamp\\RedeliveryStamp";

/// The same as it stands in a body of PhpSerializer's: as a key of the array of stamps, each backslash doubled.
constexpr std::string_view key_in_body =
    "\\\"Symfony\\\\Component\\\\Messenger\\\\Stamp\\\\SentToFailureTransportStamp\\\";a:";
constexpr std::string_view message_in_body = "exceptionMessage\\\";s:";

bool is_stamp(std::string_view header, std::string_view of_class) {
    return header.size() == stamp_header.size() + of_class.size() && header.starts_with(stamp_header) &&
           header.ends_with(of_class);
}

std::string_view stamp(const DialectArguments& from, std::string_view of_class) {
    for (const Field& field : from.delivery.message.properties.header_table()) {
        if (is_stamp(field.name, of_class)) return text_of(&field.value).value_or("");
    }
    return "";
}

/// The newest of them is the last one.
void read_error_details(std::string_view stamps, Failure& failure, FailureScratch& scratch) {
    scratch.decoded.reserve(stamps.size());
    std::string_view type;
    std::string_view message;
    Json json{stamps};
    json.each_item([&](Json& item) {
        item.each_member([&](std::string_view name, Json& value) {
            if (name == "exceptionClass") type = value.text(scratch.decoded).value_or("");
            if (name == "exceptionMessage") message = value.text(scratch.decoded).value_or("");
        });
    });
    failure.exception = exception_text(type, message, "", scratch);
}

std::optional<Failure> read_stamps_in_headers(const DialectArguments& from, std::string_view work_queue) {
    Failure failure = failed_in(work_queue, from);
    read_error_details(stamp(from, error_details), failure, from.scratch);
    keep_only(failure, from.scratch, [](std::string_view name) {
        return !is_stamp(name, sent_to_failure) && !is_stamp(name, error_details) && !is_stamp(name, redelivery);
    });
    return failure;
}

/// s:5:\"hello\"; the length is that before the slashes were added.
std::string_view message_of_exception(std::string_view body, std::string& text) {
    const std::size_t at = body.rfind(message_in_body);
    if (at == std::string_view::npos) return "";
    body.remove_prefix(at + message_in_body.size());
    std::size_t length = 0;
    const auto read = std::from_chars(body.data(), body.data() + body.size(), length);
    body.remove_prefix(static_cast<std::size_t>(read.ptr - body.data()));
    if (read.ec != std::errc{} || !body.starts_with(":\\\"")) return "";
    body.remove_prefix(3);
    for (text.clear(); text.size() < length && !body.empty(); body.remove_prefix(1)) {
        if (body.front() == '\\') body.remove_prefix(1);
        if (body.empty()) break;
        text.push_back(body.front());
    }
    return text;
}

/// The stamp is not cut out of the body: what PHP has serialized refers to its parts by their number, and all after it
/// would be wrong. Its key gets another name of the same length, which stands for no class: Symfony does not find the
/// stamp any more, and carries the other along.
bool hide_stamp(std::string& body) {
    const std::size_t at = body.find(key_in_body);
    if (at == std::string::npos) return false;
    body[at + key_in_body.size() - std::string_view{"p\\\";a:"}.size()] = 'X';
    return true;
}

std::optional<Failure> read_stamps_in_body(const DialectArguments& from, std::string_view work_queue) {
    std::string& body = from.scratch.decoded;
    const std::string_view was = from.delivery.message.body;
    body.reserve(was.size());
    if (was.ends_with('}')) {
        body.assign(was);
    } else if (!decode_base64(was, body)) {
        return std::nullopt;
    }
    if (!hide_stamp(body)) return std::nullopt;
    Failure failure = failed_in(work_queue, from);
    failure.message.body = body;
    failure.exception = message_of_exception(body, from.scratch.text);
    return failure;
}

}  // namespace

std::optional<Failure> read_symfony(const DialectArguments& from) {
    const std::string_view work_queue = from.delivery.routing_key.value_or("");
    if (!stamp(from, sent_to_failure).empty()) return read_stamps_in_headers(from, work_queue);
    if (auto failure = read_stamps_in_body(from, work_queue)) return failure;
    from.scratch.clear();
    return read_dead_lettered(from);
}

}  // namespace retryd::core
