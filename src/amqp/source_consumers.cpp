#include "amqp/source_consumers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "amqp/error.h"
#include "core/safe_text.h"

namespace retryd::amqp {
namespace {

constexpr Channel source_channel = 1;
constexpr std::size_t source_deliveries_a_turn = 32;
/// A queue that is missing, or may not be read.
constexpr core::Milliseconds again_after{60'000};
/// A connection that the broker has ended: by a message that it cannot hand over, it would do so again.
constexpr core::Milliseconds new_session_after{600'000};
constexpr core::Milliseconds source_stuck_for{30'000};

}  // namespace

struct SourceConsumers::Consumer {
    std::size_t source = 0;
    std::string queue;
    std::unique_ptr<Connection> connection = nullptr;  // null once it is lost
    bool open = false;                                 // its channel
    int consumers_made = 0;
    std::optional<core::SteadyTime> again_due = {};
    std::optional<core::SteadyTime> lost_at = {};
    bool told_stuck = false;
    std::string failed = {};  // why the next look loses it: what is being read from it now needs it until then
};

class SourceConsumers::ConsumerEvents : public Events {
  public:
    ConsumerEvents(SourceConsumers& all, Consumer& consumer) : all_(all), consumer_(consumer) {}

    void on_delivery(const core::Delivery& delivery) override {
        all_.events_.on_source_delivery(consumer_.source, delivery);
    }
    void on_unreadable_delivery(core::DeliveryTag tag) override {
        all_.events_.on_unreadable_source_delivery(consumer_.source, tag);
    }
    void on_consumer_cancelled() override {
        all_.give_up(consumer_, "the broker cancelled its consumer, as it does when the queue is deleted");
    }
    void on_channel_closed(const ChannelClosed& closed) override {
        consumer_.open = false;
        all_.events_.on_source_ended(consumer_.source);
        all_.give_up(consumer_, closed.text);
    }

  private:
    SourceConsumers& all_;
    Consumer& consumer_;
};

SourceConsumers::SourceConsumers(const config::Settings& settings, const config::Endpoint& endpoint,
                                 SourceEvents& events)
    : events_(events), prefetch_(settings.prefetch.messages) {
    for (const core::Source& source : settings.policy.sources) {
        auto consumer = std::make_unique<Consumer>();
        consumer->source = consumers_.size();
        consumer->queue = source.queue;
        consumer->connection = Connection::open(endpoint, settings.broker, "retryd (source " + source.queue + ")");
        consumer->connection->receive_large_headers();
        consumers_.push_back(std::move(consumer));
    }
}

SourceConsumers::~SourceConsumers() = default;

void SourceConsumers::start() {
    for (const auto& consumer : consumers_)
        consume(*consumer);
}

/// No two consumers of a channel have the same tag: see BrokerSession::add_consumer.
void SourceConsumers::consume(Consumer& consumer) {
    if (consumer.connection == nullptr || leaving_) return;
    try {
        if (!consumer.open) consumer.connection->open_channel(source_channel);
        consumer.open = true;
        consumer.connection->qos(source_channel, prefetch_);
        consumer.connection->consume(source_channel, consumer.queue,
                                     "retryd-source-" + std::to_string(++consumer.consumers_made));
    } catch (const Error& error) {
        lose(consumer, error.what());
    }
}

void SourceConsumers::give_up(Consumer& consumer, std::string_view why) {
    if (leaving_) return;
    consumer.again_due = now_ + again_after;
    events_.on_source_unavailable("the source " + core::quoted(consumer.queue) + " is not consumed (" +
                                  std::string{why} +
                                  "): what fails there stays there. It is tried again every minute; the queue has to "
                                  "exist, and retryd's user needs read on it");
}

void SourceConsumers::lose(Consumer& consumer, std::string_view why) {
    consumer.connection.reset();
    consumer.open = false;
    consumer.again_due.reset();
    consumer.lost_at = now_;
    events_.on_source_ended(consumer.source);
    std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.source == consumer.source; });
    events_.on_source_unavailable("the connection that consumes the source " + core::quoted(consumer.queue) +
                                  " has ended (" + std::string{why} +
                                  "): what fails there stays there for ten minutes, then it is opened again. If that "
                                  "comes again and again, RabbitMQ cannot hand over a message there: look at its log");
}

void SourceConsumers::consume_again() {
    for (const auto& consumer : consumers_) {
        if (consumer->lost_at && now_ - *consumer->lost_at >= new_session_after && !leaving_) {
            throw Error(Error::Kind::refused, "the connection that consumes the source " +
                                                  core::quoted(consumer->queue) +
                                                  " is opened again, which takes a new session");
        }
        if (!consumer->again_due || now_ < *consumer->again_due) continue;
        consumer->again_due.reset();
        consume(*consumer);
    }
}

void SourceConsumers::requeue_what_is_due() {
    while (!waiting_.empty() && waiting_.front().due <= now_) {
        const Waiting waiting = waiting_.front();
        waiting_.pop_front();
        requeue(waiting.source, waiting.tag);
    }
}

bool SourceConsumers::drain(Consumer& consumer, bool take) {
    if (!consumer.failed.empty()) lose(consumer, std::exchange(consumer.failed, {}));
    if (consumer.connection == nullptr) return false;
    ConsumerEvents events(*this, consumer);
    try {
        return consumer.connection->drain(events, take ? source_deliveries_a_turn : 0);
    } catch (const Error& error) {
        lose(consumer, error.what());
        return false;
    }
}

bool SourceConsumers::turn(const core::Now& now, bool take) {
    now_ = now.steady;
    consume_again();
    requeue_what_is_due();
    bool more = false;
    for (const auto& consumer : consumers_)
        more = drain(*consumer, take) || more;
    return more && take;
}

template <class Command>
void SourceConsumers::command(std::size_t source, const Command& command) {
    Consumer& consumer = *consumers_[source];
    if (consumer.connection == nullptr || !consumer.open || !consumer.failed.empty()) return;
    try {
        command(*consumer.connection);
    } catch (const Error& error) {
        consumer.failed = error.what();
    }
}

void SourceConsumers::ack(std::size_t source, core::DeliveryTag tag, bool multiple) {
    command(source, [&](Connection& connection) { connection.ack(source_channel, tag, multiple); });
}

void SourceConsumers::requeue(std::size_t source, core::DeliveryTag tag) {
    command(source, [&](Connection& connection) { connection.nack_requeue(source_channel, tag); });
}

void SourceConsumers::requeue_later(std::size_t source, core::DeliveryTag tag) {
    waiting_.push_back({now_ + source_stuck_for, source, tag});
    Consumer& consumer = *consumers_[source];
    if (std::exchange(consumer.told_stuck, true)) return;
    events_.on_source_unavailable(
        "a message of the source " + core::quoted(consumer.queue) +
        " cannot be published, and the dead-lettering of that queue is not retryd's: it stays "
        "there, and is tried again every 30s. The line about its dead-lettering says why it "
        "cannot; take it out by hand");
}

void SourceConsumers::stop() {
    leaving_ = true;
    for (const auto& consumer : consumers_) {
        command(consumer->source, [&](Connection& connection) {
            connection.cancel(source_channel, "retryd-source-" + std::to_string(consumer->consumers_made));
        });
    }
}

void SourceConsumers::close(core::Milliseconds patience) noexcept {
    for (const auto& consumer : consumers_) {
        if (consumer->connection != nullptr)
            consumer->connection->close(patience / static_cast<int>(consumers_.size()));
    }
}

void SourceConsumers::add_to(std::vector<pollfd>& fds, bool take) const {
    for (const auto& consumer : consumers_) {
        if (consumer->connection == nullptr) continue;
        const bool write = consumer->connection->gathered();
        const auto events = static_cast<short>((take ? POLLIN : 0) | (write ? POLLOUT : 0));
        fds.push_back({take || write ? consumer->connection->fd() : -1, events, 0});
    }
}

}  // namespace retryd::amqp
