// The part of RabbitConnection that declares, looks and deletes.
#include <vector>

#include "amqp/rabbit_connection.h"

namespace retryd::amqp {
namespace {

using Entries = std::vector<amqp_table_entry_t>;

amqp_table_entry_t entry_of(const std::pair<std::string, core::Argument>& argument) {
    amqp_table_entry_t entry{};
    entry.key = bytes_of(argument.first);
    if (const auto* number = std::get_if<std::int64_t>(&argument.second)) {
        entry.value.kind = AMQP_FIELD_KIND_I64;
        entry.value.value.i64 = *number;
    } else {
        entry.value.kind = AMQP_FIELD_KIND_UTF8;
        entry.value.value.bytes = bytes_of(std::get<std::string>(argument.second));
    }
    return entry;
}

Entries entries_of(const core::Arguments& arguments) {
    Entries entries;
    for (const auto& argument : arguments)
        entries.push_back(entry_of(argument));
    return entries;
}

/// A view of the entries.
amqp_table_t table_of(Entries& entries) {
    return {static_cast<int>(entries.size()), entries.data()};
}

}  // namespace

void RabbitConnection::declare_exchange(Channel channel, const core::ExchangeSpec& exchange) {
    Entries entries = entries_of(exchange.arguments);
    amqp_exchange_declare_t method{};
    method.exchange = bytes_of(exchange.name);
    method.type = bytes_of(exchange.type);
    method.durable = 1;
    method.arguments = table_of(entries);
    wire_.send(channel, AMQP_EXCHANGE_DECLARE_METHOD, method);
}

void RabbitConnection::declare_queue(Channel channel, const core::QueueSpec& queue) {
    Entries entries = entries_of(queue.arguments);
    amqp_queue_declare_t method{};
    method.queue = bytes_of(queue.name);
    method.durable = 1;
    method.arguments = table_of(entries);
    wire_.send(channel, AMQP_QUEUE_DECLARE_METHOD, method);
}

void RabbitConnection::declare_exclusive_queue(Channel channel, const core::QueueSpec& queue) {
    Entries entries = entries_of(queue.arguments);
    amqp_queue_declare_t method{};
    method.queue = bytes_of(queue.name);
    method.exclusive = 1;
    method.arguments = table_of(entries);
    wire_.send(channel, AMQP_QUEUE_DECLARE_METHOD, method);
}

void RabbitConnection::bind(Channel channel, const core::BindingSpec& binding) {
    Entries entries = entries_of(binding.arguments);
    amqp_queue_bind_t method{};
    method.queue = bytes_of(binding.queue);
    method.exchange = bytes_of(binding.exchange);
    method.routing_key = bytes_of(binding.routing_key);
    method.arguments = table_of(entries);
    wire_.send(channel, AMQP_QUEUE_BIND_METHOD, method);
}

void RabbitConnection::check_exchange(Channel channel, const std::string& exchange) {
    amqp_exchange_declare_t method{};
    method.exchange = bytes_of(exchange);
    method.type = bytes_of("direct");  // not looked at, but must be a type that exists
    method.passive = 1;
    wire_.send(channel, AMQP_EXCHANGE_DECLARE_METHOD, method);
}

void RabbitConnection::check_queue(Channel channel, const std::string& queue) {
    amqp_queue_declare_t method{};
    method.queue = bytes_of(queue);
    method.passive = 1;
    wire_.send(channel, AMQP_QUEUE_DECLARE_METHOD, method);
}

void RabbitConnection::delete_exchange(Channel channel, const std::string& exchange) {
    amqp_exchange_delete_t method{};
    method.exchange = bytes_of(exchange);
    method.if_unused = 1;
    wire_.send(channel, AMQP_EXCHANGE_DELETE_METHOD, method);
}

void RabbitConnection::delete_queue(Channel channel, const std::string& queue, bool only_if_idle) {
    amqp_queue_delete_t method{};
    method.queue = bytes_of(queue);
    method.if_unused = only_if_idle ? 1 : 0;
    method.if_empty = only_if_idle ? 1 : 0;
    wire_.send(channel, AMQP_QUEUE_DELETE_METHOD, method);
}

}  // namespace retryd::amqp
