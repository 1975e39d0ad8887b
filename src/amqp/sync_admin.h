// A connection on which one step after the other is carried out and waited for: for the commands, and for the daemon's
// thread that counts messages.
#pragma once

#include <memory>
#include <string>

#include "amqp/declarer.h"
#include "amqp/events.h"
#include "amqp/timeouts.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/time.h"

namespace retryd::amqp {

class Connection;

/// Every call throws Error when the connection is lost.
class SyncAdminConnection : private Events {
  public:
    /// Connects to the first endpoint that lets us in. Throws Error with what each of them said where none does.
    /// `settings` must outlive it; `name` is the connection's, for those who look at the broker. A step that takes more
    /// than `longest_answer` ends the connection.
    SyncAdminConnection(const config::Broker& settings, const std::string& name,
                        core::Milliseconds longest_answer = answer_timeout);
    ~SyncAdminConnection() override;
    SyncAdminConnection(const SyncAdminConnection&) = delete;
    SyncAdminConnection& operator=(const SyncAdminConnection&) = delete;

    const config::Endpoint& endpoint() const { return *endpoint_; }
    core::BrokerVersion version() const;

    /// Another thread ends whatever waits for the broker with shutdown() on it.
    int fd() const;

    /// Where the broker ends the connection over it (amqp/aside.h) another one is made.
    Declarer::Outcome carry_out(Declarer::Step step);

    /// Keeps the connection alive meanwhile.
    void wait(core::Milliseconds time);

  private:
    void open(const config::Endpoint& endpoint);
    Declarer::Outcome ask(Declarer::Step step);
    void wait_for_frames(core::Milliseconds longest);

    void on_channel_open(Channel channel) override { declarer_->on_channel_open(channel); }
    void on_declared(Channel channel, const QueueCounts& counts) override { declarer_->on_declared(channel, counts); }
    void on_channel_closed(const ChannelClosed& closed) override { declarer_->on_channel_closed(closed); }

    const config::Broker& settings_;
    std::string name_;
    core::Milliseconds longest_answer_;
    const config::Endpoint* endpoint_ = nullptr;
    std::unique_ptr<Connection> connection_;
    std::unique_ptr<Declarer> declarer_;
};

}  // namespace retryd::amqp
