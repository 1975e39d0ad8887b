// One entry of x-death, as it is read: what the broker says of the deaths in one queue for one reason.
#pragma once

#include <string_view>

#include "core/value.h"

namespace retryd::core {

/// Null where a field is absent.
struct DeathEntry {
    const Value* queue = nullptr;
    const Value* reason = nullptr;
    const Value* count = nullptr;
    const Value* time = nullptr;
    const Value* exchange = nullptr;
    const Value* routing_keys = nullptr;
    const Value* original_expiration = nullptr;

    const Value** field(std::string_view name) {
        switch (name.size()) {
            case 4:
                return name == "time" ? &time : nullptr;
            case 5:
                return name == "queue" ? &queue : name == "count" ? &count : nullptr;
            case 6:
                return name == "reason" ? &reason : nullptr;
            case 8:
                return name == "exchange" ? &exchange : nullptr;
            case 12:
                return name == "routing-keys" ? &routing_keys : nullptr;
            case 19:
                return name == "original-expiration" ? &original_expiration : nullptr;
            default:
                return nullptr;
        }
    }
};

/// All of it in one pass. Of fields with the same name the first one counts, as everywhere.
inline DeathEntry read_death_entry(const Table& fields) {
    DeathEntry entry;
    for (const Field& field : fields) {
        const Value** const place = entry.field(field.name);
        if (place != nullptr && *place == nullptr) *place = &field.value;
    }
    return entry;
}

}  // namespace retryd::core
