#include "amqp/consuming_channels.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "amqp/timeouts.h"

namespace retryd::amqp {
namespace {

using core::Milliseconds;

constexpr Milliseconds asked_every{500};
constexpr Milliseconds silent_after{1'000};
/// The first one has so long to answer after a spare one has: a broker that is slow as a whole lets both wait.
constexpr Milliseconds stuck_after{250};
/// A spare one that takes longer does not count.
constexpr Milliseconds spare_asked_every{250};
constexpr Milliseconds spare_silent_after{250};
/// Those that were to show whether the first is stuck may be held up by the next such message.
constexpr Milliseconds another_after{500};
constexpr std::size_t most_tries = 8;
/// A broker that is slow as a whole answers sooner, as a rule: RabbitMQ 3.10.8 took up to 7 s with twenty such
/// messages.
constexpr Milliseconds ends_after{8'000};
/// So many are to answer and have nothing to do.
constexpr std::size_t free_spares = 8;
constexpr Milliseconds between_openings{100};
constexpr Milliseconds between_others{2'000};
/// What was on its way to the channel when its messages went back has come to it since.
constexpr Milliseconds given_back_every{500};
/// Each return to the one channel costs the others a moment if the next such message comes.
constexpr Milliseconds quiet_for{60'000};

}  // namespace

ConsumingChannels::ConsumingChannels(Commands& commands, Channel last)
    : commands_(commands), last_(std::min<Channel>(last, end_of_numbers - 1)) {}

bool ConsumingChannels::ChannelState::owes() const {
    return std::any_of(owed.begin(), owed.end(), [](int answers) { return answers > 0; });
}

ConsumingChannels::ChannelState* ConsumingChannels::find(Channel channel) {
    const auto found = channels_.find(channel);
    return found == channels_.end() ? nullptr : &found->second;
}

const ConsumingChannels::ChannelState* ConsumingChannels::find(Channel channel) const {
    const auto found = channels_.find(channel);
    return found == channels_.end() ? nullptr : &found->second;
}

void ConsumingChannels::start(core::SteadyTime now) {
    now_ = now;
    alive_at_ = now;
    main_ = open(false);
}

/// Nothing where the broker allows no more.
std::optional<Channel> ConsumingChannels::open(bool spare, std::size_t most) {
    if (spare && channels_.size() >= most) return std::nullopt;
    Channel channel = 1;
    while (channel <= last_ && channels_.contains(channel))
        ++channel;
    if (channel > last_) return std::nullopt;
    ChannelState& its = channels_[channel];
    its.spare = spare;
    its.owes_since = now_;
    its.due = now_ + (spare ? spare_asked_every : asked_every);
    commands_.open(channel, spare);
    return channel;
}

// ── What has been sent, and what has come ───────────────────────────────────────────────────────────────────────

void ConsumingChannels::sent(Channel channel, Question question) {
    ChannelState* const its = find(channel);
    if (its == nullptr) return;
    if (!its->owes()) its->owes_since = now_;
    ++its->of(question);
}

void ConsumingChannels::answered(Channel channel, Question question) {
    ChannelState* const its = find(channel);
    if (its == nullptr) return;
    if (its->of(question) > 0) --its->of(question);
    note_life(*its);
    if (question != Question::consume) return;
    its->consumes_since = now_;
    if (its->only_asks) its->state = State::leaving;
}

void ConsumingChannels::delivered(Channel channel) {
    if (ChannelState* const its = find(channel)) note_life(*its);
}

void ConsumingChannels::note_life(ChannelState& its) {
    its.owes_since = now_;
    if (its.state == State::consuming && !its.only_asks) alive_at_ = now_;
}

void ConsumingChannels::acked(Channel channel) {
    if (ChannelState* const its = find(channel)) its->acked_at = now_;
}

bool ConsumingChannels::takes(Channel channel) const {
    const ChannelState* const its = find(channel);
    return its != nullptr && (its->state == State::consuming || its->state == State::leaving);
}

bool ConsumingChannels::closes(Channel channel) const {
    const ChannelState* const its = find(channel);
    return its != nullptr && its->state == State::closing;
}

bool ConsumingChannels::consumes(Channel channel) const {
    const ChannelState* const its = find(channel);
    return its != nullptr && its->state == State::consuming;
}

bool ConsumingChannels::knows_consumers(Channel channel) const {
    const ChannelState* const its = find(channel);
    return its != nullptr && its->of(Question::consume) == 0;
}

std::size_t ConsumingChannels::spares() const {
    return static_cast<std::size_t>(
        std::count_if(channels_.begin(), channels_.end(), [](const auto& its) { return its.second.spare; }));
}

Milliseconds ConsumingChannels::main_silent_for() const {
    const ChannelState* const main = main_ ? find(*main_) : nullptr;
    return main != nullptr && main->owes() ? now_ - std::max(main->owes_since, main->acked_at) : Milliseconds::zero();
}

bool ConsumingChannels::connection_ends() const {
    if (!one_at_a_time_ || now_ - alive_at_ < ends_after) return false;
    return std::any_of(channels_.begin(), channels_.end(), [&](const auto& each) {
        const ChannelState& its = each.second;
        return its.state == State::consuming && !its.consumes_since && silent(its, ends_after);
    });
}

bool ConsumingChannels::silent(const ChannelState& its, Milliseconds time) const {
    return its.owes() && now_ - its.owes_since >= time;
}

// ── A turn ──────────────────────────────────────────────────────────────────────────────────────────────────────

void ConsumingChannels::tick(core::SteadyTime now, bool may_open, bool read_all) {
    now_ = now;
    note_silence(read_all);
    ask();
    if (may_open) look();
    for (auto next = channels_.begin(); next != channels_.end();) {
        const auto its = next++;
        leave(its->first, its->second);
    }
    const ChannelState* const main = channels_.size() == 1 && main_ ? find(*main_) : nullptr;
    next_tick_ = main == nullptr ? now_ + between_openings : main->owes() ? main->owes_since + silent_after : main->due;
    if (next_tick_ <= now_) next_tick_ = now_ + between_openings;  // it is silent, and none may be opened
}

void ConsumingChannels::ask() {
    for (auto& [channel, its] : channels_) {
        if (its.state != State::consuming || its.owes() || now_ < its.due) continue;
        its.due = now_ + (its.spare ? spare_asked_every : asked_every);
        commands_.ask(channel);
    }
}

void ConsumingChannels::note_silence(bool read_all) {
    bool any_owes = false;
    for (auto& [channel, its] : channels_) {
        if (!read_all || commands_.receives(channel)) note_life(its);
        if (its.state != State::consuming) continue;
        any_owes = any_owes || its.owes();
        if (its.spare && silent(its, silent_after)) quiet_since_ = now_;
    }
    if (!any_owes) alive_at_ = now_;
}

void ConsumingChannels::look() {
    ChannelState* const main = main_ ? find(*main_) : nullptr;
    if (main != nullptr) look_at_main(*main);
    if (!one_at_a_time_) return;
    provide_spares();
    if (!main_ && now_ - quiet_since_ >= quiet_for) main_ = open(false);
}

void ConsumingChannels::look_at_main(ChannelState& main) {
    if (!silent(main, silent_after)) {
        if (spares() > 0 && main.of(Question::consume) == 0) widen();
        return;
    }
    if (!some_spare_works()) return try_another();
    main.state = State::leaving;
    main.stuck = true;
    main_.reset();
    one_at_a_time_ = true;
    quiet_since_ = now_;
}

/// It got its answer later than the first one should have.
bool ConsumingChannels::some_spare_works() const {
    return std::any_of(channels_.begin(), channels_.end(), [&](const auto& each) {
        const ChannelState& its = each.second;
        return its.spare && its.state == State::consuming && its.consumes_since &&
               now_ - *its.consumes_since >= stuck_after;
    });
}

void ConsumingChannels::try_another() {
    std::size_t tries = 0;
    for (const auto& [channel, its] : channels_) {
        if (!its.spare) continue;
        ++tries;
        if (its.state == State::consuming && !silent(its, another_after)) return;
    }
    if (tries < most_tries) open(true);
}

void ConsumingChannels::widen() {
    one_at_a_time_ = false;
    renew_spares();
}

void ConsumingChannels::renew_spares() {
    for (auto& [channel, its] : channels_) {
        if (its.spare && its.state == State::consuming) its.state = State::leaving;
    }
    open_due_ = {};
}

void ConsumingChannels::provide_spares() {
    if (now_ < open_due_) return;
    open_due_ = now_ + between_openings;
    std::size_t free = 0;
    for (const auto& [channel, its] : channels_) {
        const bool answers = its.spare && its.state == State::consuming && !silent(its, spare_silent_after);
        if (answers && commands_.is_idle(channel)) ++free;
    }
    for (; free < free_spares && open(true); ++free) {
    }
    if (free == 0) ask_on_another();
}

/// There are as many as may be, and none is answered: whether a new one would be, nobody would know.
void ConsumingChannels::ask_on_another() {
    if (now_ - alive_at_ < silent_after || now_ < another_due_) return;
    another_due_ = now_ + between_others;
    const bool asks = std::any_of(channels_.begin(), channels_.end(), [](const auto& each) {
        return each.second.state == State::consuming && !each.second.consumes_since;
    });
    if (asks) return;
    if (const auto channel = open(true, end_of_numbers - 1)) channels_[*channel].only_asks = true;
}

// ── The way out ─────────────────────────────────────────────────────────────────────────────────────────────────

/// basic.cancel-ok comes behind all that the broker has sent on it. A quorum queue forgets acks that are still on their
/// way to it when their channel ends; and RabbitMQ 3.10 closes the connection (541) if basic.cancel overtakes
/// basic.consume within the broker, which is a matter of milliseconds: one that is stuck has had a second.
void ConsumingChannels::leave(Channel channel, ChannelState& its) {
    if (its.state == State::consuming || its.state == State::closing) return;
    if (!its.cancelled && (its.stuck || its.of(Question::consume) == 0)) {
        its.cancelled = true;
        commands_.cancel(channel);
    }
    const bool through = its.cancelled && its.of(Question::cancel) == 0;
    if (its.stuck && (!through || its.state == State::given_back)) give_back(channel, its);
    if (!through || !commands_.is_idle(channel) || now_ - its.acked_at < ack_linger) return;
    its.state = State::closing;
    commands_.close(channel);
}

/// Not while something that it has delivered is unsettled: that would come twice.
void ConsumingChannels::give_back(Channel channel, ChannelState& its) {
    if (its.state == State::leaving && !commands_.is_idle(channel)) return;
    if (its.state == State::given_back && now_ < its.due) return;
    its.state = State::given_back;
    its.due = now_ + given_back_every;
    commands_.give_back(channel);
}

}  // namespace retryd::amqp
