// Each dialect: what is read from a message of a framework's error queue. Used by core/failure.cpp alone.
//
// A dialect says what the message says, checked for nothing but its form: whether the queue is usable is
// read_failure's.
#pragma once

#include <optional>
#include <string_view>

#include "core/failure.h"

namespace retryd::core {

struct DialectArguments {
    const Delivery& delivery;
    const Source& source;
    std::string_view queue;  // of the source
    FailureScratch& scratch;
};

// In core/dialects.cpp, those that keep the message as it is and add headers.
std::optional<Failure> read_masstransit(const DialectArguments& from);
std::optional<Failure> read_nservicebus(const DialectArguments& from);
std::optional<Failure> read_rebus(const DialectArguments& from);
std::optional<Failure> read_spring(const DialectArguments& from);
std::optional<Failure> read_celery(const DialectArguments& from);
std::optional<Failure> read_dramatiq(const DialectArguments& from);
std::optional<Failure> read_generic(const DialectArguments& from);
// In files of their own, those that keep it within something else.
std::optional<Failure> read_easynetq(const DialectArguments& from);
std::optional<Failure> read_symfony(const DialectArguments& from);

// What they share.

/// As the broker has dead-lettered it, without a framework.
std::optional<Failure> read_dead_lettered(const DialectArguments& from);
/// The message as it is, failed in that queue, for the first time as far as is known.
Failure failed_in(std::string_view work_queue, const DialectArguments& from);
/// The name of the queue that the end of the source's name is added to; empty where it does not have that end.
std::string_view without_suffix(std::string_view queue, std::string_view suffix);
/// Text of the header; empty where it has none.
std::string_view header_text(const DialectArguments& from, std::string_view name);
/// Seconds since 1970 of 2026-11-23T05:21:01.1234567Z or 2026-11-23 05:21:01:123456 Z.
std::optional<std::uint64_t> seconds_of(std::string_view iso_time);
/// "type: message", and the stack trace on further lines; what is empty is left out.
std::string_view exception_text(std::string_view type, std::string_view message, std::string_view stack_trace,
                                FailureScratch& scratch);

/// The headers that are kept, into scratch.fields, and from there into the message that goes back.
template <class Keep>
void keep_only(Failure& failure, FailureScratch& scratch, const Keep& keep) {
    scratch.fields.clear();
    for (const Field& field : failure.message.properties.header_table()) {
        if (keep(field.name)) scratch.fields.push_back(field);
    }
    failure.message.properties.headers = Table{scratch.fields.data(), scratch.fields.size()};
}

}  // namespace retryd::core
