// What a message carries from its earlier rounds: our own headers.
//
// RabbitMQ 3.13.0–3.13.2 and every 4.x forget an x-death that a client republishes, so the history has to travel in
// headers of ours (release notes of 4.0.1; tried on 3.10.8, 4.0.5 and 4.3.6).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/value.h"

namespace retryd::core {

/// Views into the header table. Everything that is missing or has the wrong type is as if it were not there: these
/// headers can be forged by anyone who may publish.
struct Carried {
    std::int64_t attempt = 0;  // never negative
    std::optional<std::uint64_t> first_death;
    std::optional<std::string_view> exchange;
    std::optional<std::string_view> routing_key;
    std::optional<std::string_view> user_id;
    std::optional<std::string_view> expiration;
    const Value* cc = nullptr;
    const Value* bcc = nullptr;
};

/// Reads them if `retryd-queue` names `work_queue`. A consumer that copies headers into a new message to another
/// queue must not hand on its attempts: then the result is empty.
Carried read_carried(const Table& headers, std::string_view work_queue);

}  // namespace retryd::core
