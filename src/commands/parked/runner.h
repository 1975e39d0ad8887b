// Carries out one admin::ParkedRun on a broker: reads the parking queue on one connection, publishes on another, and
// sees on a third what consumers reject.
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
    std::string why;                          // of an end that the broker brought about, in its words
    std::optional<std::uint64_t> younger_at;  // as admin::ParkedRun has it
    std::size_t given_back = 0;               // that were held, and lie where they lay
    std::string fault;  // the connection was lost: what was not acked by then stays, or is there twice
};

/// Of one command; keeps references to all that it is given.
class ParkedRunner {
  public:
    /// `blocked`: why the broker takes no messages at the moment, in its words; empty where it does.
    using Progress = std::function<void(const admin::ParkedRunCounts&, const std::string& blocked)>;
    /// What has to be done before the first message is sent. Returns why it could not be, and then none is; else empty.
    using Before = std::function<std::string()>;

    /// `tap` may be null: then what fails again is not seen.
    /// `held` may be null: what it holds stays out of the way as long as it is kept alive, which happens here.
    ParkedRunner(const config::Settings& settings, Broker& broker, StopSign stop, amqp::DeadLetterTap* tap,
                 amqp::Undeliverable* held)
        : settings_(settings), broker_(broker), stop_(std::move(stop)), tap_(tap), held_(held) {}

    /// For Action::archive: where it goes.
    void archive_into(ArchiveFile* archive) { archive_ = archive; }
    /// For who is likely to need only what lies in front: see QueueReader::hold_few.
    void hold_few(std::size_t given_back) { few_given_back_ = given_back; }
    void before_sending(Before before) { before_ = std::move(before); }

    /// Returns when all is settled. `ready`: how many messages lie in the queue. A lost connection is part of the
    /// result.
    ParkedRunResult run(const std::string& queue, std::size_t ready, admin::ParkedRunOrder order,
                        const Progress& progress) const;

  private:
    class Run;

    const config::Settings& settings_;
    Broker& broker_;
    StopSign stop_;
    amqp::DeadLetterTap* tap_;
    amqp::Undeliverable* held_;
    Before before_;
    ArchiveFile* archive_ = nullptr;
    std::optional<std::size_t> few_given_back_;
};

}  // namespace retryd::commands
