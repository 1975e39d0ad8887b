// The dialects of frameworks that put a message away as it is, with headers of theirs on it. Read from their sources:
//
// MassTransit 8.5.8: RabbitMqMoveTransport.cs (properties and body as delivered, routing key too),
// RabbitMqErrorTransport.cs
//   (no expiration), SendContextExtensions.cs: SetHostHeaders, SetExceptionHeaders; RabbitMqEndpointAddress.cs (the
//   form of an input address); DefaultErrorQueueNameFormatter.cs (_error), DefaultDeadLetterQueueNameFormatter.cs
//   (_skipped).
// NServiceBus 10.2.0: MoveToError.cs, FaultMetadataExtractor.cs, FaultsHeaderKeys.cs, Headers.cs,
// DateTimeOffsetHelper.cs;
//   NServiceBus.RabbitMQ 11.2.0: MessageConverter.cs (every header becomes text, x-death is taken off),
//   BasicPropertiesExtensions.cs.
// Rebus 8.9.2: DeadletterQueueErrorHandler.cs, Headers.cs, DefaultRetryStep.cs; Rebus.RabbitMq 10.1.0:
//   RabbitMqTransport.cs: CreateTransportMessage (every header becomes text), CreateBasicProperties.
// Spring AMQP 4.2.0-M1: RepublishMessageRecoverer.java, MessageProperties.java; Spring Cloud Stream 5.0.3:
//   RabbitMessageChannelBinder.java (republishToDlq), RabbitExchangeQueueProvisioner.java (.dlq).
// Celery 5.6.2: worker/request.py: reject() (basic.reject, so that the broker dead-letters).
//   Recorded from 5.2.6: tests/recordings.
// Dramatiq 2.2.0: brokers/rabbitmq.py (.XQ by the broker's dead-lettering, from the queue and from its .DQ),
//   middleware/retries.py (the option `traceback` in the body). Recorded from it: tests/recordings.
#include "core/dialects.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "core/json.h"
#include "core/names.h"
#include "core/own_headers.h"
#include "core/text.h"

namespace retryd::core {
namespace {

template <std::size_t count>
bool is_one_of(std::string_view name, const std::array<std::string_view, count>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<std::int64_t> number_in(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// `retryd-*` headers that have become text.

/// As .NET prints an AmqpTimestamp: ((time_t)1700000000).
std::optional<std::uint64_t> seconds_of_time_t(std::string_view text) {
    constexpr std::string_view before = "((time_t)";
    if (!text.starts_with(before)) return std::nullopt;
    text.remove_prefix(before.size());
    if (!text.ends_with(')')) return std::nullopt;
    text.remove_suffix(1);
    const auto number = number_in(text);
    return number && *number >= 0 ? std::optional{static_cast<std::uint64_t>(*number)} : std::nullopt;
}

std::optional<Value> restored(OwnHeader name, std::string_view text) {
    if (name == OwnHeader::attempt) {
        if (const auto number = number_in(text)) return Value::of_long(*number);
    } else if (name == OwnHeader::first_death) {
        auto time = seconds_of(text);
        if (!time) time = seconds_of_time_t(text);
        if (time) return Value::of_timestamp(*time);
    }
    return std::nullopt;
}

/// Else the proof would not hold, and the attempts could not be read.
void restore_own_headers(std::vector<Field>& fields) {
    for (Field& field : fields) {
        const OwnHeader name = own_header_of(field.name);
        const auto text = name == OwnHeader::none ? std::nullopt : text_of(&field.value);
        if (!text) continue;
        if (const auto value = restored(name, *text)) field.value = *value;
    }
}

// MassTransit.

namespace masstransit {

constexpr std::string_view fault = "MT-Fault-";
constexpr std::array<std::string_view, 9> added{"MT-Reason",
                                                "MT-Host-MachineName",
                                                "MT-Host-ProcessName",
                                                "MT-Host-ProcessId",
                                                "MT-Host-Assembly",
                                                "MT-Host-AssemblyVersion",
                                                "MT-Host-MassTransitVersion",
                                                "MT-Host-FrameworkVersion",
                                                "MT-Host-OperatingSystemVersion"};

/// The queue's name in rabbitmq://host/vhost/name?temporary=true, or queue:name. MassTransit takes no name of other
/// than letters, digits and - _ . : for one, so nothing in it is escaped.
std::string_view queue_in(std::string_view address) {
    address = address.substr(0, address.find('?'));
    for (const std::string_view scheme : {"queue:", "exchange:"}) {
        if (address.starts_with(scheme)) return address.substr(scheme.size());
    }
    const std::size_t host = address.find("://");
    if (host == std::string_view::npos) return "";
    const std::string_view path = address.substr(host + 3);
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? "" : path.substr(slash + 1);
}

}  // namespace masstransit

// NServiceBus.

namespace nservicebus {

constexpr std::string_view exception = "NServiceBus.ExceptionInfo.";
/// What its own recoverability counts, so that it begins anew.
constexpr std::array<std::string_view, 5> added{"NServiceBus.FailedQ", "NServiceBus.TimeOfFailure",
                                                "NServiceBus.Retries", "NServiceBus.Retries.Timestamp",
                                                "NServiceBus.FLRetries"};

}  // namespace nservicebus

// Rebus: it gives up at once on what brings a delivery count above its limit (DefaultRetryStep), and it wrote that of
// the failed deliveries into the message.
constexpr std::array<std::string_view, 3> added_by_rebus{"rbs2-error-details", "rbs2-source-queue",
                                                         "rbs2-delivery-count"};

constexpr std::array<std::string_view, 4> added_by_spring{"x-exception-message", "x-exception-stacktrace",
                                                          "x-original-exchange", "x-original-routingKey"};

/// What Dramatiq has in the body of a message that it has tried before: what the broker has dead-lettered is as it was
/// before the last failure.
void read_dramatiq_options(std::string_view body, Failure& failure, FailureScratch& scratch) {
    scratch.decoded.reserve(body.size());
    Json json{body};
    json.each_member([&](std::string_view name, Json& member) {
        if (name != "options") return;
        member.each_member([&](std::string_view option, Json& value) {
            if (option == "traceback") failure.exception = value.text(scratch.decoded).value_or("");
        });
    });
}

std::optional<unsigned> digits(std::string_view text, std::size_t at, std::size_t count) {
    unsigned number = 0;
    if (text.size() < at + count) return std::nullopt;
    for (const char c : text.substr(at, count)) {
        if (c < '0' || c > '9') return std::nullopt;
        number = 10 * number + static_cast<unsigned>(c - '0');
    }
    return number;
}

}  // namespace

// What they share.

std::string_view header_text(const DialectArguments& from, std::string_view name) {
    return text_of(find(from.delivery.message.properties.header_table(), name)).value_or("");
}

std::string_view without_suffix(std::string_view queue, std::string_view suffix) {
    if (!queue.ends_with(suffix)) return "";
    return queue.substr(0, queue.size() - suffix.size());
}

std::optional<std::uint64_t> seconds_of(std::string_view iso) {
    if (iso.size() < 19 || iso[4] != '-' || iso[7] != '-' || (iso[10] != 'T' && iso[10] != ' ') || iso[13] != ':' ||
        iso[16] != ':')
        return std::nullopt;
    const auto year = digits(iso, 0, 4), month = digits(iso, 5, 2), day = digits(iso, 8, 2);
    const auto hour = digits(iso, 11, 2), minute = digits(iso, 14, 2), second = digits(iso, 17, 2);
    if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(*year)}, std::chrono::month{*month},
                                           std::chrono::day{*day}};
    if (!date.ok() || *year < 1970 || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
    const auto days = std::chrono::sys_days{date}.time_since_epoch().count();
    return static_cast<std::uint64_t>(days) * 86'400 + *hour * 3'600 + *minute * 60 + *second;
}

std::string_view exception_text(std::string_view type, std::string_view message, std::string_view stack_trace,
                                FailureScratch& scratch) {
    std::string& text = scratch.text;
    text.assign(utf8_prefix(type, longest_exception));
    const auto add = [&](std::string_view separator, std::string_view more) {
        if (more.empty()) return;
        if (!text.empty()) text.append(separator);
        if (text.size() < longest_exception) text.append(utf8_prefix(more, longest_exception - text.size()));
    };
    add(": ", message);
    add("\n", stack_trace);
    return text;
}

Failure failed_in(std::string_view work_queue, const DialectArguments& from) {
    Failure failure;
    failure.death.queue = work_queue;
    failure.death.reason = "rejected";
    failure.death.routing_key = from.delivery.routing_key.value_or("");
    failure.message = from.delivery.message;
    return failure;
}

std::optional<Failure> read_dead_lettered(const DialectArguments& from) {
    const auto death = read_death(from.delivery.message.properties.header_table(), from.queue);
    if (!death) return std::nullopt;
    return Failure{*death, from.delivery.message, {}};
}

// The dialects.

std::optional<Failure> read_masstransit(const DialectArguments& from) {
    std::string_view queue = masstransit::queue_in(header_text(from, "MT-Fault-InputAddress"));
    // A skipped message, for which there was no consumer, has no such header.
    if (queue.empty()) queue = without_suffix(from.queue, "_error");
    if (queue.empty()) queue = without_suffix(from.queue, "_skipped");
    Failure failure = failed_in(queue, from);
    failure.death.time = seconds_of(header_text(from, "MT-Fault-Timestamp"));
    const std::string_view message = header_text(from, "MT-Fault-Message");
    failure.exception = exception_text(header_text(from, "MT-Fault-ExceptionType"),
                                       message.empty() ? header_text(from, "MT-Reason") : message,
                                       header_text(from, "MT-Fault-StackTrace"), from.scratch);
    keep_only(failure, from.scratch, [](std::string_view name) {
        return !name.starts_with("MT-") ||
               (!name.starts_with(masstransit::fault) && !is_one_of(name, masstransit::added));
    });
    return failure;
}

std::optional<Failure> read_nservicebus(const DialectArguments& from) {
    Failure failure = failed_in(header_text(from, "NServiceBus.FailedQ"), from);
    failure.death.time = seconds_of(header_text(from, "NServiceBus.TimeOfFailure"));
    // The stack trace is the exception's ToString(): it begins with type and message.
    const std::string_view trace = header_text(from, "NServiceBus.ExceptionInfo.StackTrace");
    failure.exception = trace.empty()
                            ? exception_text(header_text(from, "NServiceBus.ExceptionInfo.ExceptionType"),
                                             header_text(from, "NServiceBus.ExceptionInfo.Message"), "", from.scratch)
                            : trace;
    keep_only(failure, from.scratch, [](std::string_view name) {
        return !name.starts_with("NServiceBus.") ||
               (!name.starts_with(nservicebus::exception) && !is_one_of(name, nservicebus::added));
    });
    restore_own_headers(from.scratch.fields);
    return failure;
}

std::optional<Failure> read_rebus(const DialectArguments& from) {
    Failure failure = failed_in(header_text(from, "rbs2-source-queue"), from);
    failure.exception = header_text(from, "rbs2-error-details");
    keep_only(failure, from.scratch, [](std::string_view name) { return !is_one_of(name, added_by_rebus); });
    restore_own_headers(from.scratch.fields);
    return failure;
}

std::optional<Failure> read_spring(const DialectArguments& from) {
    const Table headers = from.delivery.message.properties.header_table();
    const auto exchange = text_of(find(headers, "x-original-exchange"));
    const auto key = text_of(find(headers, "x-original-routingKey"));
    if (!exchange && !key) return read_dead_lettered(from);  // without republishToDlq
    // It does not say which queue. What was sent to a queue by its name names it, and so does a .dlq of Spring Cloud
    // Stream.
    std::string_view queue = without_suffix(from.queue, ".dlq");
    if (queue.empty() && exchange == "") queue = key.value_or("");
    Failure failure = failed_in(queue, from);
    failure.death.exchange = exchange.value_or("");
    failure.death.routing_key = key.value_or("");
    failure.exception = exception_text("", header_text(from, "x-exception-message"),
                                       header_text(from, "x-exception-stacktrace"), from.scratch);
    keep_only(failure, from.scratch, [](std::string_view name) { return !is_one_of(name, added_by_spring); });
    return failure;
}

std::optional<Failure> read_celery(const DialectArguments& from) {
    return read_dead_lettered(from);
}

std::optional<Failure> read_dramatiq(const DialectArguments& from) {
    auto failure = read_dead_lettered(from);
    if (!failure) return std::nullopt;
    // What waited in a delay queue goes to the queue that it waited for.
    if (const auto queue = without_suffix(failure->death.queue, ".DQ"); !queue.empty()) failure->death.queue = queue;
    read_dramatiq_options(from.delivery.message.body, *failure, from.scratch);
    return failure;
}

std::optional<Failure> read_generic(const DialectArguments& from) {
    auto failure = read_dead_lettered(from);
    return failure ? failure : failed_in("", from);
}

}  // namespace retryd::core
