// Carries out an admin::ParkedRun on a broker: reads the parking queue on one connection, publishes on another, and on
// a third sees what consumers reject.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "admin/parked_run.h"
#include "amqp/dead_letter_tap.h"
#include "amqp/undeliverable.h"
#include "commands/common/broker.h"
#include "commands/common/progress.h"
#include "commands/parked/archive_file.h"
#include "config/settings.h"

namespace retryd::commands {

struct ParkedRunResult {
    admin::ParkedRun::End end = admin::ParkedRun::End::none;
    admin::ParkedRunCounts counts;
    std::string why;                          // if the broker ended it: why, in its words
    std::optional<std::uint64_t> younger_at;  // as in admin::ParkedRun
    std::size_t given_back = 0;               // messages that were held and are back in their place
    std::string fault;  // the connection was lost: messages not acked by then stay, or there are two copies
};

/// For one command; keeps references to its arguments.
class ParkedRunner {
  public:
    /// `blocked`: why the broker is blocked, in its words; empty if it is not.
    using Progress = std::function<void(const admin::ParkedRunCounts&, const std::string& blocked)>;
    /// Called before the first message is sent. Returns why it failed, and then nothing is sent; else empty.
    using Before = std::function<std::string()>;

    /// `tap` may be null; then messages that fail again are not noticed. `taker` may be null; what it has taken stays
    /// out of the way while it is kept alive, which happens here.
    ParkedRunner(const config::Settings& settings, Broker& broker, StopSign stop, amqp::DeadLetterTap* tap,
                 amqp::UndeliverableTaker* taker)
        : settings_(settings), broker_(broker), stop_(std::move(stop)), tap_(tap), taker_(taker) {}

    /// For Action::archive: the archive file.
    void archive_into(ArchiveFile* archive) { archive_ = archive; }
    /// For callers that probably need only the head of the queue: see QueueReader::keep_few_unacked.
    void keep_few_unacked(std::size_t given_back) { few_given_back_ = given_back; }
    void before_sending(Before before) { before_ = std::move(before); }

    /// Returns when everything is settled. `ready`: the number of messages in the queue. A lost connection is part of
    /// the result.
    ParkedRunResult run(const std::string& queue, std::size_t ready, admin::ParkedRunOrder order,
                        const Progress& progress) const;

  private:
    class Run;

    const config::Settings& settings_;
    Broker& broker_;
    StopSign stop_;
    amqp::DeadLetterTap* tap_;
    amqp::UndeliverableTaker* taker_;
    Before before_;
    ArchiveFile* archive_ = nullptr;
    std::optional<std::size_t> few_given_back_;
};

}  // namespace retryd::commands
