#include "commands/parked/browse.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace retryd::commands {

namespace {

using Clock = std::chrono::steady_clock;
using core::Milliseconds;

class Look : private amqp::DeliverySink {
  public:
    Look(std::size_t count, const Visitor& visit) : count_(count), visit_(visit) {}

    Browsed looked;

    bool over() const { return enough_ || looked.messages >= count_; }
    bool turn(amqp::QueueReader& reader) {
        const std::size_t left = std::max<std::size_t>(1, count_ - looked.messages);
        return reader.turn(*this, std::min(messages_a_turn, left));
    }

  private:
    void on_delivery(const core::Delivery& delivery) override { see(&delivery); }
    void on_unreadable_delivery(core::DeliveryTag) override { see(nullptr); }
    void see(const core::Delivery* delivery) {
        if (over()) return;
        ++looked.messages;
        enough_ = !visit_(delivery);
    }

    std::size_t count_;
    const Visitor& visit_;
    bool enough_ = false;
};

}  // namespace

const config::Endpoint& endpoint_of(const config::Settings& settings, const BrokerIdentity& identity) {
    const auto& all = settings.broker.endpoints;
    const auto found = std::find_if(all.begin(), all.end(), [&](const config::Endpoint& endpoint) {
        return endpoint.host == identity.host && endpoint.port == identity.port && endpoint.tls == identity.tls &&
               endpoint.vhost == identity.vhost;
    });
    return found == all.end() ? all.front() : *found;
}

bool QueueEnd::reached(std::size_t seen) {
    constexpr Milliseconds a_while{500};
    constexpr int most_times_asked = 20;
    const auto now = Clock::now();
    if (seen != seen_) {
        seen_ = seen;
        since_ = now;
        times_asked_ = 0;
    }
    if (now - since_ < a_while) return false;
    since_ = now;
    const auto answer = broker_.carry_out(amqp::Declarer::CheckQueue{queue_});
    if (answer.result != amqp::Declarer::Result::done) return true;
    // None are ready either when all are on their way to us, which may take a busy broker a while.
    if (++times_asked_ < most_times_asked) return false;
    if (answer.counts.messages == 0) return true;
    withheld_ = std::to_string(answer.counts.messages) +
                " messages are there that the broker does not give to us: another consumer may be the queue's single "
                "active one, or the queue is waiting for its nodes";
    return true;
}

namespace {

void wait_for(const amqp::QueueReader& reader) {
    constexpr int a_moment = 50;  // milliseconds
    pollfd readable{reader.fd(), POLLIN, 0};
    poll(&readable, 1, a_moment);
}

/// The connection that asks has nothing to do meanwhile; its heartbeats have to be served all the same.
class Upkeep {
  public:
    explicit Upkeep(Broker& broker) : broker_(broker) {}

    void turn() {
        constexpr Milliseconds every{1'000};
        const auto now = Clock::now();
        if (now < due_) return;
        due_ = now + every;
        broker_.wait(Milliseconds{1});
    }

  private:
    Broker& broker_;
    Clock::time_point due_{};
};

}  // namespace

Browsed browse(const config::Settings& settings, Broker& broker, const std::string& queue, std::size_t count,
               const system::Signals& signals, const Visitor& visit) {
    Look look(std::min(count, amqp::QueueReader::most_held), visit);
    if (look.over()) return look.looked;
    amqp::QueueReader reader(endpoint_of(settings, broker.identity()), settings.broker, "retryd parked look");
    reader.begin(queue, count);
    QueueEnd exhaustion(broker, queue);
    Upkeep upkeep(broker);
    while (!look.over()) {
        upkeep.turn();
        const bool more = look.turn(reader);
        look.looked.interrupted = signals.pending();
        look.looked.ended = reader.ended();
        if (look.looked.interrupted || !look.looked.ended.empty() || look.over()) break;
        if (more) continue;
        if (exhaustion.reached(look.looked.messages)) {
            look.looked.ended = exhaustion.withheld();
            break;
        }
        std::array fds{pollfd{reader.fd(), POLLIN, 0}, pollfd{signals.fd(), POLLIN, 0}};
        constexpr int a_moment = 100;  // milliseconds
        poll(fds.data(), fds.size(), a_moment);
    }
    while (!reader.all_here() && reader.ended().empty()) {
        upkeep.turn();
        if (!look.turn(reader)) wait_for(reader);
    }
    reader.leave();
    return look.looked;
}

}  // namespace retryd::commands
