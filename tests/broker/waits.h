// Up a ladder: a message that is rejected at once each time it comes.
#pragma once

#include <cstdint>
#include <vector>

#include "support/await.h"
#include "support/catch.h"
#include "support/machine.h"
#include "support/worker.h"

namespace retryd::test {

/// Receives a message and rejects it once for each of `waits`: it comes back after that wait, not much later than at
/// its best, as that attempt; and `check` holds of it. It is returned as it came last.
template <class Check>
Received reject_through(Worker& worker, const std::vector<milliseconds>& waits, const Check& check) {
    const Machine machine;
    Lateness lateness;
    Received message = worker.receive();
    for (std::size_t attempt = 1; attempt <= waits.size(); ++attempt) {
        CAPTURE(attempt);
        const Clock::time_point rejected = Clock::now();
        worker.reject(message);
        message = worker.receive();
        const milliseconds waited = since(rejected);
        CHECK(waited >= waits[attempt - 1]);
        lateness.add(waited, waits[attempt - 1]);
        CHECK(long_header(message, "retryd-attempt") == static_cast<std::int64_t>(attempt));
        check(message);
    }
    CHECK(lateness.least() < milliseconds(250) + machine.slack());
    return message;
}

}  // namespace retryd::test
