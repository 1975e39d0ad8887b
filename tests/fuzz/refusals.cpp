// What a broker says when it refuses something: a short string that contains names chosen by others.
#include "amqp/refusal.h"
#include "core/safe_text.h"
#include "fuzz/bytes.h"
#include "fuzz/require.h"
#include "fuzz/targets.h"

namespace retryd::fuzz {
namespace {

/// What AMQP 0-9-1 can hold in a name or a reply text.
constexpr std::size_t short_string = 255;
constexpr std::array<int, 5> codes{406, 404, 403, 405, 530};

void check(const std::string& line, std::string_view name) {
    require(line.find(core::quoted(name)) != std::string::npos, "what is refused is named");
    require(core::is_safe(line), "the broker's words are shown safely");
    require(line.size() < 4096, "a line is no page");
}

/// All that can be said about one name.
void explain(std::string_view name, int code, std::string_view text) {
    const core::QueueSpec queue{
        std::string{name}, {{"x-message-ttl", std::int64_t{5000}}, {"x-overflow", "a"}}, {"x-delivery-limit"}};
    check(amqp::explain_queue_refusal(queue, code, text).line(), name);
    check(amqp::explain_exchange_refusal({std::string{name}, "fanout", {}}, code, text).line(), name);
    check(amqp::explain_binding_refusal({std::string{name}, "exchange", "", {}}, code, text).line(), name);
    check(amqp::explain_foreign_refusal({std::string{name}}, code, text).line(), name);
    check(amqp::explain_check_refusal("queue", name, code, text), name);
    check(amqp::explain_delete_refusal("queue", name, code, text), name);
    check(amqp::explain_lack(queue, "x-delivery-limit", text).line(), name);
}

/// As RabbitMQ words it, 3.8 to 4.3, around a name that may hold the very same words.
void well_formed(std::string_view name) {
    const std::string text = "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue '" + std::string{name} +
                             "' in vhost 'a/b': received the value '5000' of type 'long' but current is none";
    const auto found = amqp::parse_inequivalent(text);
    require(found.has_value(), "a difference is seen");
    require(found->argument == "x-message-ttl" && found->name == name && found->vhost == "a/b" &&
                found->received == "5000" && found->current == "none",
            "a difference is read, whatever the name");
}

}  // namespace

void refusals(std::string_view input) {
    Bytes bytes{input};
    const int code = bytes.one_of<int>(codes);
    const std::string_view name = bytes.text_until('\0').substr(0, short_string);
    well_formed(name);
    explain(name, code, bytes.rest().substr(0, short_string));
}

}  // namespace retryd::fuzz
