#include "admin/amqp10_clients.h"

#include <charconv>
#include <cstddef>

#include "admin/finding.h"

namespace retryd::admin {

namespace {

/// What is no escape stays as it is.
std::string percent_decoded(std::string_view text) {
    constexpr std::size_t escape = 3;
    constexpr int hexadecimal = 16;
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned char byte = 0;
        const char* const digits = text.data() + i + 1;
        const bool escaped = text[i] == '%' && i + escape <= text.size() &&
                             std::from_chars(digits, digits + 2, byte, hexadecimal).ptr == digits + 2;
        decoded += escaped ? static_cast<char>(byte) : text[i];
        if (escaped) i += escape - 1;
    }
    return decoded;
}

}  // namespace

std::set<std::string> queues_behind(std::string_view target, const Ways& ways) {
    constexpr std::string_view to_queue = "/queues/";
    constexpr std::string_view to_exchange = "/exchanges/";
    if (target.starts_with(to_queue)) return {percent_decoded(target.substr(to_queue.size()))};
    if (!target.starts_with(to_exchange)) return {};
    const std::string_view rest = target.substr(to_exchange.size());
    const std::size_t slash = rest.find('/');
    const std::string exchange = percent_decoded(rest.substr(0, slash));
    if (slash == std::string_view::npos) return ways.reached(exchange, {"#", true}).queues;
    return ways.reached(exchange, {percent_decoded(rest.substr(slash + 1))}).queues;
}

std::string amqp10_note(const std::set<std::string>& work_queues) {
    if (work_queues.empty()) return "";
    constexpr std::size_t most_names = 10;
    return "producers or consumers of " + folded({work_queues.begin(), work_queues.end()}, most_names) +
           " speak AMQP 1.0. A message that comes back to them is not in all sections as it was: RabbitMQ makes AMQP "
           "0-9-1 of it for retryd, and AMQP 1.0 again, so that subject, to, absolute-expiry-time, group-sequence, "
           "reply-to-group-id and some types are gone (docs/reference.md, \"Messages of AMQP 1.0\"). What a consumer "
           "needs of these belongs in an application-property, as a string";
}

}  // namespace retryd::admin
