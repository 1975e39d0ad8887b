#include "fuzz/repeated_deaths.h"

#include <array>
#include <vector>

#include "core/message.h"
#include "core/names.h"
#include "fuzz/require.h"

namespace retryd::fuzz {
namespace {

using core::Field;
using core::Kind;
using core::Table;
using core::Value;

constexpr std::array<std::string_view, 5> reasons{"rejected", "delivery_limit", "expired", "maxlen", "later-reason"};

/// Views into itself and into what it was made of.
struct Again {
    std::array<Field, 4> entry;
    std::vector<Value> entries;
    std::vector<Field> headers;
    core::Message message;
};

/// A message that expires on a rung goes back to its work queue: that is no death.
std::string_view reason_in(std::string_view work_queue, Bytes& choices) {
    const std::string_view reason = choices.one_of<std::string_view>(reasons);
    const bool rung = core::looks_like_rung(work_queue) || core::looks_like_shared_rung(work_queue);
    return rung && reason == "expired" ? "rejected" : reason;
}

/// The broker puts its own entry in front, on every version.
void die(const Retried& retried, std::string_view reason, const core::Array& forged, Again& again) {
    again.entry = {Field{"count", Value::of_long(1)}, Field{"queue", Value::of_longstr(retried.work_queue)},
                   Field{"reason", Value::of_longstr(reason)}, Field{"time", Value::of_timestamp(1'799'999'000)}};
    again.entries.assign(1, {Kind::table, Table{again.entry.data(), again.entry.size()}});
    again.entries.insert(again.entries.end(), forged.begin(), forged.end());
    again.headers.assign(1, {"x-death", {Kind::array, core::Array{again.entries.data(), again.entries.size()}}});
    again.headers.push_back({"x-first-death-queue", Value::of_longstr(retried.work_queue)});
    const Table carried = retried.properties.header_table();
    again.headers.insert(again.headers.end(), carried.begin(), carried.end());
    again.message.properties = retried.properties;
    again.message.properties.headers = Table{again.headers.data(), again.headers.size()};
}

}  // namespace

void retry_until_parked(CheckedFlow& flow, core::Message message, const core::Array& forged, Bytes& choices) {
    std::int64_t before = 0;
    std::string work_queue;
    core::OwnedDelivery held({1, false, message});
    for (int round = 0;; ++round) {
        require(round <= longest_ladder, "no message loops for ever");
        const double random = choices.byte() / 256.0;
        const auto retried = flow.handle(held.get().message, random);
        if (!retried) return;
        require(round == 0 || retried->work_queue == work_queue, "the newest death counts");
        require(retried->attempt > before, "the attempt grows with every round");
        before = retried->attempt;
        work_queue = retried->work_queue;
        Again again;
        die(*retried, reason_in(work_queue, choices), forged, again);
        held = core::OwnedDelivery({1, true, again.message});
    }
}

}  // namespace retryd::fuzz
