// Declares and checks on a connection of its own what RabbitMQ may answer by ending the connection.
//
// What RabbitMQ says of a refusal has room for 255 bytes. From 4.0 on it cuts that text after so many characters: with
// letters that take several bytes it may be too long all the same, and then it ends the whole connection (541
// INTERNAL_ERROR, method_field_shortstr_overflow) where it would have closed a channel. Whoever may give names can make
// it do so: a queue with a long name that is deleted once its message has died, or one with the name of a rung and an
// argument that is long. 4.3.6 also ends it where a queue is bound while it is being deleted. On the connection that
// publishes, every message would have to wait for a reconnect, again and again.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "amqp/background.h"
#include "amqp/declarer.h"
#include "config/settings.h"

namespace retryd::amqp {

/// The declares and checks that RabbitMQ has answered by ending the connection. Lives longer than a session.
class ConnectionClosingSteps {
  public:
    /// False where it was known.
    bool add(const Declarer::Step& step);
    /// What `declarer` was being asked when its connection ended. False where all of that was known.
    bool add_asked(const Declarer& declarer);
    bool contains(const Declarer::Step& step) const;

  private:
    std::vector<Declarer::Step> steps_;
};

/// Whether already "there is no such queue" does not fit, for its name.
bool is_too_long_to_refuse(const Declarer::Step& step, const std::string& vhost);

/// One step after the other, in a thread of its own.
class AsideDeclarer {
  public:
    AsideDeclarer(const config::Endpoint& endpoint, const config::Broker& settings);
    ~AsideDeclarer();
    AsideDeclarer(const AsideDeclarer&) = delete;
    AsideDeclarer& operator=(const AsideDeclarer&) = delete;

    void submit(Declarer::Step step, Declarer::Sink sink);
    /// Calls the sinks of those that have their answer.
    void turn();
    bool idle() const { return waiting_.empty(); }

  private:
    struct Shared;
    struct Waiting {
        std::size_t number = 0;
        Declarer::Sink sink;
    };

    std::shared_ptr<Shared> shared_;
    std::vector<Waiting> waiting_;
    std::size_t submitted_ = 0;
    std::optional<Background<bool>> thread_;
};

/// From now on `declarer` leaves the steps in `known`, and those that are certain to end a connection, to `aside`. All
/// three must outlive it.
void delegate_closing_steps(AsideDeclarer& aside, const ConnectionClosingSteps& known, const std::string& vhost,
                            Declarer& declarer);

}  // namespace retryd::amqp
