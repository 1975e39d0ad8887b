// Puts the messages of a file into their queues: each counts once the broker has confirmed it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "amqp/queue_io.h"
#include "commands/common/broker.h"
#include "commands/parked/import_file.h"
#include "commands/parked/message_line.h"
#include "config/settings.h"
#include "core/time.h"
#include "relay/in_flight.h"
#include "system/signals.h"

namespace retryd::commands {

/// One file, once. It ends at the first message that does not get into its queue: whoever repeats it behind the lines
/// that are settled leaves none out.
class Importer : private amqp::ConfirmSink {
  public:
    /// With how many messages are confirmed, and what keeps the broker from taking more.
    using Progress = std::function<void(std::size_t imported, const std::string& note)>;

    /// Keeps references to its arguments. `to`: all go there; empty: each where it was parked. `skip`: lines to leave
    /// out. Throws amqp::Error.
    Importer(const config::Settings& settings, const BrokerIdentity& broker, const system::Signals& signals,
             ImportFile& file, std::string to, std::size_t skip);

    void run(const Progress& progress);

    static constexpr std::size_t most_in_flight = 500;

    /// Messages that the broker has confirmed.
    std::size_t imported() const { return imported_; }
    /// Whether they got in is not known.
    std::size_t unknown() const { return unknown_; }
    /// All messages of these lines are in their queues.
    std::size_t settled_lines() const;
    /// Why it ended before the file did; empty where it did not.
    const std::string& why() const { return why_; }

  private:
    void work(const Progress& progress);
    void end(const std::string& why);
    void end_at(std::size_t line, const std::string& why);
    bool given_up();
    bool confirms_are_late();
    void send_some();
    bool send(const core::Message& message);
    void wait();

    void on_confirm(relay::PublishSeq seq, bool multiple, bool acked) override;
    void on_returned(std::string_view exchange, std::string_view routing_key) override;

    const system::Signals& signals_;
    ImportFile& file_;
    std::string to_;
    std::size_t skip_;
    std::string user_;
    amqp::QueueWriter writer_;
    MessageLine line_;
    bool pending_ = false;  // line_ is not sent yet
    bool ended_ = false;    // no more are sent
    relay::Unconfirmed unconfirmed_;
    std::set<std::size_t> in_flight_;  // their lines
    std::optional<std::size_t> first_failed_;
    std::vector<relay::Pending> answered_;
    std::size_t imported_ = 0;
    std::size_t unknown_ = 0;
    core::SteadyTime now_{};
    core::SteadyTime unblocked_at_{};
    std::optional<core::SteadyTime> interrupted_at_;
    std::string why_;
};

}  // namespace retryd::commands
