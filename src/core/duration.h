// Durations as operators write them and as queue names carry them: `500ms`, `30s`, `1m30s`, `1d`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"

namespace retryd::core {

/// Units ms, s, m, h, d; whole numbers; each unit at most once, larger before smaller (`1h30m`, never `30m1h`).
/// Nothing for anything else: no sign, no space, no fraction, no number without a unit, nothing past ten years
/// (RabbitMQ refuses a longer TTL: 315 360 000 000 ms, checked on 3.10.8 to 4.3.5).
std::optional<Milliseconds> parse_duration(std::string_view text);

/// The shortest spelling with the same units: 90 s is `1m30s` however it was written; zero is `0ms`.
/// parse_duration(format_duration(d)) == d, so that a delay names one queue only.
std::string format_duration(Milliseconds duration);

/// The longest TTL that RabbitMQ takes.
inline constexpr Milliseconds longest_ttl{315'360'000'000};

}  // namespace retryd::core
