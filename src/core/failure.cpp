#include "core/failure.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "core/dialects.h"
#include "core/names.h"
#include "core/text.h"
#include "core/topology.h"

namespace retryd::core {
namespace {

constexpr std::size_t few_bytes_kept = 1024 * 1024;

constexpr std::array<std::pair<Dialect, std::string_view>, 9> names{{{Dialect::masstransit, "masstransit"},
                                                                     {Dialect::nservicebus, "nservicebus"},
                                                                     {Dialect::rebus, "rebus"},
                                                                     {Dialect::easynetq, "easynetq"},
                                                                     {Dialect::spring, "spring"},
                                                                     {Dialect::symfony, "symfony"},
                                                                     {Dialect::celery, "celery"},
                                                                     {Dialect::dramatiq, "dramatiq"},
                                                                     {Dialect::generic, "generic"}}};

std::optional<Failure> read_in_dialect(const DialectArguments& from) {
    switch (from.source.dialect) {
        case Dialect::masstransit:
            return read_masstransit(from);
        case Dialect::nservicebus:
            return read_nservicebus(from);
        case Dialect::rebus:
            return read_rebus(from);
        case Dialect::easynetq:
            return read_easynetq(from);
        case Dialect::spring:
            return read_spring(from);
        case Dialect::symfony:
            return read_symfony(from);
        case Dialect::celery:
            return read_celery(from);
        case Dialect::dramatiq:
            return read_dramatiq(from);
        case Dialect::generic:
            break;
    }
    return read_generic(from);
}

/// What the source's own key says, where it says something.
std::optional<std::string_view> configured_queue(const DialectArguments& from, const Failure& failure) {
    const WorkQueueOf& work_queue = from.source.work_queue;
    switch (work_queue.place) {
        case WorkQueueOf::Place::header: {
            // It may have stood within the framework's envelope.
            const auto inside = text_of(find(failure.message.properties.header_table(), work_queue.text));
            return inside ? inside : text_of(find(from.delivery.message.properties.header_table(), work_queue.text));
        }
        case WorkQueueOf::Place::suffix:
            return without_suffix(from.queue, work_queue.text);
        case WorkQueueOf::Place::name:
            return work_queue.text;
        case WorkQueueOf::Place::dialect:
            break;
    }
    return std::nullopt;
}

void add_death_time(Death& death, WallTime now) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    const auto today = static_cast<std::uint64_t>(std::max<std::int64_t>(0, seconds));
    death.time = std::min(death.time.value_or(today), today);
}

}  // namespace

std::string_view to_string(Dialect dialect) {
    const auto* const found =
        std::find_if(names.begin(), names.end(), [&](const auto& named) { return named.first == dialect; });
    return found == names.end() ? "generic" : found->second;
}

std::string describe(const WorkQueueOf& work_queue) {
    switch (work_queue.place) {
        case WorkQueueOf::Place::header:
            return "work queue in header " + work_queue.text;
        case WorkQueueOf::Place::suffix:
            return "work queue: its name without " + work_queue.text;
        case WorkQueueOf::Place::name:
            return "work queue: " + work_queue.text;
        case WorkQueueOf::Place::dialect:
            break;
    }
    return "work queue as the dialect says";
}

void FailureScratch::clear() {
    fields.clear();
    text.clear();
    decoded.clear();
    if (decoded.capacity() > few_bytes_kept) std::string{}.swap(decoded);
    tables.clear();
    arrays.clear();
}

std::optional<Failure> read_failure(const Delivery& delivery, const Source& source, std::string_view queue,
                                    WallTime now, FailureScratch& scratch) {
    scratch.clear();
    const DialectArguments from{delivery, source, queue, scratch};
    auto failure = read_in_dialect(from);
    if (!failure) return std::nullopt;
    if (const auto configured = configured_queue(from, *failure)) failure->death.queue = *configured;
    const std::string_view work_queue = failure->death.queue;
    if (!usable_queue_name(work_queue) || work_queue == queue) return std::nullopt;
    if (looks_like_rung(work_queue) || looks_like_shared_rung(work_queue)) return std::nullopt;
    if (!source.reason_header.empty()) failure->exception = header_text(from, source.reason_header);
    failure->exception = utf8_prefix(failure->exception, longest_exception);
    add_death_time(failure->death, now);
    return failure;
}

namespace {

bool is_rung_entry(const Table& entry) {
    const auto queue = text_of(find(entry, "queue"));
    return queue && text_of(find(entry, "reason")) == "expired" &&
           (looks_like_rung(*queue) || looks_like_shared_rung(*queue));
}

/// What the broker wrote when the message left its rung for the last time, where the framework has kept it.
std::optional<Value> entry_of_rung(const Table& headers) {
    const auto entries = array_of(find(headers, x_death));
    const auto newest = entries && !entries->empty() ? table_of(entries->begin()) : std::nullopt;
    return newest && is_rung_entry(*newest) ? std::optional{*entries->begin()} : std::nullopt;
}

/// A framework that makes text of all headers loses that entry, and with some headers the proof. Without either the
/// attempts would not be believed, and such a message would begin anew for ever; with these a consumer can only make
/// its own message be parked earlier or later.
Value entry_for_claim(const Failure& failure, FailureScratch& scratch) {
    scratch.rung = rung_name(failure.death.queue, Milliseconds{1'000}, false);
    const std::vector<Field>& entry =
        scratch.tables.emplace_back(std::vector<Field>{{"count", Value::of_long(1)},
                                                       {"reason", Value::of_longstr("expired")},
                                                       {"queue", Value::of_longstr(scratch.rung)}});
    return {Kind::table, Table{entry.data(), entry.size()}};
}

/// The death as the broker writes one.
Value entry_of(const Failure& failure, FailureScratch& scratch) {
    const Death& death = failure.death;
    scratch.routing_key = Value::of_longstr(death.routing_key);
    scratch.death = {{"count", Value::of_long(death.count)},
                     {"reason", Value::of_longstr(death.reason)},
                     {"queue", Value::of_longstr(death.queue)},
                     {"time", Value::of_timestamp(death.time.value_or(0))},
                     {"exchange", Value::of_longstr(death.exchange)},
                     {"routing-keys", {Kind::array, Array{&scratch.routing_key, 1}}}};
    if (death.original_expiration)
        scratch.death.push_back({"original-expiration", Value::of_longstr(*death.original_expiration)});
    return {Kind::table, Table{scratch.death.data(), scratch.death.size()}};
}

void write_deaths(const Failure& failure, FailureScratch& scratch) {
    const Table headers = failure.message.properties.header_table();
    scratch.deaths.assign(1, entry_of(failure, scratch));
    if (const auto rung = entry_of_rung(headers)) {
        scratch.deaths.push_back(*rung);
    } else if (text_of(find(headers, header::queue)) == failure.death.queue) {
        scratch.deaths.push_back(entry_for_claim(failure, scratch));
    }
}

/// A source may have any delivery limit, and delete what reaches it. So what has come back there once already counts as
/// worn: where it would have to go back again, the relay puts it into the error queue.
void add_wear(const Table& delivered, std::vector<Field>& fields) {
    constexpr std::string_view count = "x-delivery-count";
    if (deliveries_in_vain(delivered) == 0) return;
    std::erase_if(fields, [&](const Field& field) { return field.name == count; });
    fields.push_back({count, Value::of_long(republish_after_deliveries)});
}

/// Into scratch.fields, whether the headers are there already or not.
void without_headers_of_this_death(const Table& headers, FailureScratch& scratch) {
    std::vector<Field>& fields = scratch.fields;
    if (headers.begin() != fields.data()) fields.assign(headers.begin(), headers.end());
    std::erase_if(fields, [](const Field& field) { return field.name == x_death || field.name == header::exception; });
}

}  // namespace

Delivery as_dead_lettered(const Delivery& delivery, const Source& source, std::string_view queue, WallTime now,
                          FailureScratch& scratch) {
    Delivery read = delivery;
    auto failure = read_failure(delivery, source, queue, now, scratch);
    std::vector<Field>& fields = scratch.fields;
    if (!failure) {
        fields.clear();
        without_headers_of_this_death(delivery.message.properties.header_table(), scratch);
    } else {
        write_deaths(*failure, scratch);
        read.message = failure->message;
        read.routing_key = failure->death.routing_key;
        without_headers_of_this_death(failure->message.properties.header_table(), scratch);
        fields.insert(fields.begin(), {x_death, {Kind::array, Array{scratch.deaths.data(), scratch.deaths.size()}}});
        if (!failure->exception.empty()) fields.push_back({header::exception, Value::of_longstr(failure->exception)});
    }
    add_wear(delivery.message.properties.header_table(), fields);
    read.message.properties.headers = Table{fields.data(), fields.size()};
    return read;
}

}  // namespace retryd::core
