#include "daemon/held_count.h"

#include <utility>

#include "amqp/empty_answers.h"

namespace retryd::daemon {

namespace {

/// How often the number is asked for.
constexpr core::Milliseconds counted_every{1'000};
constexpr core::Milliseconds counted_seldom{10'000};
/// Where messages were known to be, a queue is empty if the broker has said so for that long: an election takes less.
constexpr core::Milliseconds empty_after{30'000};

}  // namespace

bool HeldCount::due(bool often, core::SteadyTime now) const {
    return !asked_at_ && now - counted_at_ >= (often ? counted_every : counted_seldom);
}

void HeldCount::asked(core::SteadyTime now) {
    asked_at_ = counted_at_ = now;
}

void HeldCount::unanswered() {
    asked_at_.reset();
    empty_since_.reset();
}

std::optional<std::uint64_t> HeldCount::answered(const std::optional<amqp::QueueCounts>& counts,
                                                 std::optional<std::uint64_t> known, bool consumed,
                                                 core::SteadyTime now) {
    const auto when = std::exchange(asked_at_, {});
    if (!when || *when <= lane_changed_at_) return std::nullopt;
    const bool says_empty = counts == amqp::QueueCounts{};
    if (!says_empty) empty_since_.reset();
    if (says_empty && !believe_empty(*when, known, consumed, now)) return std::nullopt;
    const std::uint64_t messages = counts ? counts->messages : 0;
    if (messages == 0) none_at_ = *when;
    return messages;
}

/// The broker names neither messages nor consumers: so it does of a queue that it cannot ask, or that has no leader now
/// (amqp::may_be_unasked).
bool HeldCount::believe_empty(core::SteadyTime when, std::optional<std::uint64_t> known, bool consumed,
                              core::SteadyTime now) {
    if (consumed) {  // our own consumer is missing: the queue was not asked, and perhaps not before either
        empty_since_.reset();
        return false;
    }
    if (!empty_since_) empty_since_ = now;
    const bool for_long = now - *empty_since_ >= empty_after;
    const bool believed = known ? *known == 0 || for_long : for_long || !amqp::may_be_unasked({}, now - when);
    // The time begins anew: a queue that was empty for long may have some messages now.
    if (believed) empty_since_.reset();
    return believed;
}

}  // namespace retryd::daemon
