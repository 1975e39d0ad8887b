#include "amqp/head_rejection.h"

#include <chrono>
#include <thread>
#include <utility>

#include "amqp/error.h"
#include "amqp/poison_head.h"
#include "amqp/timeouts.h"

namespace retryd::amqp {
namespace {

using Clock = std::chrono::steady_clock;

/// For the broker to take back what a connection held that has ended.
constexpr core::Milliseconds consumer_leaves_within{2'000};
/// The same once there was no other consumer: a busy broker is slow.
constexpr core::Milliseconds own_leaves_within{10'000};
/// With the answer to a consumer that got nothing: a broker that writes a message for minutes is silent for longer.
constexpr core::Milliseconds silent_for{3'000};
constexpr core::Milliseconds between_looks_for_it{5};
constexpr core::Milliseconds comes_within{5'000};
/// Of those that nobody can read; the rest comes the next time.
constexpr std::size_t most_at_a_time = 500;
/// Of others, each on a connection.
constexpr std::size_t most_others = 32;
constexpr int ends_that_prove = 2;
/// So many in a row that can be handed over: most likely none is left that cannot.
constexpr int enough_well = 2;
constexpr int most_rounds = 3;

[[noreturn]] void give_up(const std::string& why) {
    throw Error(Error::Kind::refused, why);
}

}  // namespace

HeadRejection::HeadRejection(const config::Endpoint& endpoint, const config::Broker& settings,
                             const core::BrokerVersion& version, const std::string& queue, Count count, GoOn go_on)
    : endpoint_(endpoint),
      settings_(settings),
      queue_(queue),
      count_(std::move(count)),
      go_on_(std::move(go_on)),
      receiver_(endpoint, settings, version, queue) {}

HeadRejection::~HeadRejection() = default;

void HeadRejection::run() {
    try {
        for (int round = 0; !try_all(); ++round) {
            if (round == most_rounds) give_up("other messages at the head end connections as well");
        }
        // What is still on its way to the queue then is forgotten, as acks are, and its messages come again.
        if (!rejected_.empty()) std::this_thread::sleep_for(ack_linger);
        receiver_.finish();
    } catch (const Error&) {
        receiver_.abandon();
        give_back();
        throw;
    }
    give_back();
}

/// False where one more than those that were tried ends connections: it could have done so in their place.
bool HeadRejection::try_all() {
    take_all();
    try_each();
    if (!proven_.empty() && ready() > 0 && look() == Head::ends_connection) {
        taken_ = std::exchange(proven_, {});
        return false;
    }
    // What is taken and not proven was taken before these.
    if (!proven_.empty()) receiver_.reject(proven_.front(), proven_.back());
    for (amqp10::Taken& message : std::exchange(proven_, {}))
        rejected_.push_back(std::move(message.description));
    return true;
}

/// Until consumers get what they can be given, or nothing is left.
void HeadRejection::take_all() {
    for (int well = 0; taken_.size() < most_at_a_time && others_.size() < most_others && well < enough_well;) {
        if (ready() == 0) return;
        if (well == 0) {
            taken_.push_back(take());
            if (ready() == 0) return;
        }
        const Head head = look();
        if (head == Head::nothing) return;
        well = head == Head::ends_connection ? 0 : well + 1;
    }
}

void HeadRejection::try_each() {
    for (amqp10::Taken& suspect : std::exchange(taken_, {})) {
        if (others_.size() >= most_others) {
            taken_.push_back(suspect);
        } else if (ends_alone(suspect)) {
            proven_.push_back(suspect);
        }
    }
}

/// If not, it is with a consumer now, or in the queue.
bool HeadRejection::ends_alone(amqp10::Taken& suspect) {
    for (int i = 0; i < ends_that_prove; ++i) {
        receiver_.release(suspect);
        if (look() != Head::ends_connection) return false;
        if (ready() == 0) give_up("what was at the head of the queue is gone");
        const amqp10::Taken taken = take();
        if (taken.digest != suspect.digest) give_up("other messages came back to the queue meanwhile");
        suspect = taken;
    }
    return true;
}

void HeadRejection::give_back() {
    const auto others = std::exchange(others_, {});
    for (const auto& other : others) {
        try {
            other->give_back();
        } catch (const Error&) {
            // the broker takes it back all the same
        }
    }
    if (!others.empty()) std::this_thread::sleep_for(ack_linger);
}

/// How many messages can be had, once the broker has taken back what ended connections held: that happens together with
/// the end of their consumers.
std::size_t HeadRejection::ready() {
    if (!go_on_()) give_up("interrupted");
    for (const auto& other : others_)
        other->serve();
    receiver_.serve();
    const std::size_t own = 1 + others_.size();
    const auto deadline = Clock::now() + (was_alone_ ? own_leaves_within : consumer_leaves_within);
    do {
        const QueueCounts counts = count_();
        was_alone_ = was_alone_ || counts.consumers == own;
        if (counts.consumers == own) return counts.messages;
        std::this_thread::sleep_for(between_looks_for_it);
    } while (Clock::now() < deadline);
    give_up("another consumer takes from the queue");
}

amqp10::Taken HeadRejection::take() {
    const auto taken = receiver_.take(comes_within);
    if (!taken) give_up("the broker does not hand over by AMQP 1.0 what is at the head of the queue");
    return *taken;
}

HeadRejection::Head HeadRejection::look() {
    auto probe = std::make_unique<HeadProbe>(endpoint_, settings_, queue_);
    switch (probe->look_and_keep(silent_for)) {
        case HeadProbe::Sees::connection_closed:
            ++connections_ended_;
            return Head::ends_connection;
        case HeadProbe::Sees::message:
            others_.push_back(std::move(probe));
            return Head::handed_over;
        case HeadProbe::Sees::nothing:
            return Head::nothing;
        case HeadProbe::Sees::silence:
            break;
    }
    give_up("the broker is busy with a message");
}

}  // namespace retryd::amqp
