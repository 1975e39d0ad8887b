// Looks at parked messages without taking any out: which parking queues there are, which of their messages are
// selected, how many by work queue and reason, and what could not be seen. Every `parked` command begins with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/parked.h"
#include "commands/common/broker.h"
#include "commands/common/progress.h"
#include "commands/common/report.h"
#include "commands/parked/browse_queue.h"
#include "config/settings.h"
#include "core/message.h"
#include "core/time.h"

namespace retryd::commands {

/// The options that all `parked` commands share.
struct ParkedOptions {
    ReportOptions report;
    std::string from;  // a parking queue; empty: those of the configuration
    std::string queue;
    std::string reason;
    std::optional<core::Milliseconds> older_than;
    std::optional<core::Milliseconds> newer_than;
    std::vector<admin::HeaderMatch> headers;
    std::string message_id;
    std::string exchange;
    std::string type;
    bool despite_delivery_limit = false;
    // As in admin::Selection; the command line has no option for it.
    const core::Message* exactly = nullptr;
    admin::MessageChoice* among = nullptr;
    std::string replay = {};
};

admin::Selection selection_of(const ParkedOptions& options, core::WallTime now);

/// Messages of one work queue that were parked for the same reason.
struct ParkedGroup {
    std::size_t messages = 0;
    std::size_t replayed = 0;             // how many of them were replayed before, and failed again
    std::uint64_t bytes = 0;              // of their bodies
    std::optional<std::uint64_t> oldest;  // when the oldest was parked, in seconds
    std::optional<std::uint64_t> newest;
};

void count_into(ParkedGroup& group, const admin::Parked& parked, const core::Message& message);

class ParkedGroups {
  public:
    /// The most groups from values that anybody can make up; all further messages are counted in one group, with this
    /// reason.
    static constexpr std::size_t most = 10'000;
    static constexpr const char* others = "(others)";

    void add(const admin::Parked& parked, const core::Message& message);

    /// By work queue and reason; either is empty if unknown.
    const std::map<std::pair<std::string, std::string>, ParkedGroup>& all() const { return groups_; }
    std::size_t messages() const { return messages_; }

  private:
    std::map<std::pair<std::string, std::string>, ParkedGroup> groups_;
    std::size_t messages_ = 0;
};

struct ParkingQueueOverview {
    std::string name;
    std::size_t messages = 0;   // messages in the queue
    std::size_t looked_at = 0;  // fewer if there are more than can be held at once, or another consumer took some
    ParkedGroups selected;
    std::string fault;  // why not all of it was looked at: cause, consequence, remedy
    /// Messages that RabbitMQ cannot hand over by AMQP 0-9-1, taken out meanwhile; null if there are none.
    std::shared_ptr<amqp::UndeliverableTaker> undeliverable_taker = nullptr;
    bool undeliverable_selected = false;

    std::size_t undeliverable() const { return undeliverable_taker ? undeliverable_taker->taken().size() : 0; }
};

struct ParkedOverview {
    std::vector<ParkingQueueOverview> queues;  // existing ones
    std::vector<std::string> notes;            // what could not be seen
    std::string fault;                         // why nothing could be looked at; empty if something could
    bool interrupted = false;

    std::size_t selected() const;
    /// The selected messages among those that cannot be handed over, which selected() does not count.
    std::size_t undeliverable_selected() const;
    bool complete() const;
};

/// Connects to the broker and looks at all parking queues that the options select, one after the other
/// (browse_one_queue). Keeps references to its arguments.
class ParkingQueuesBrowser {
  public:
    /// Throws amqp::Error.
    ParkingQueuesBrowser(const config::Settings& settings, const ParkedOptions& options, core::WallTime now,
                         StopSign stop, Progress& progress);

    /// Called with each selected message and its number, from 1; returns false once it has seen enough. If the look has
    /// to start over, it is called again from a lower number on.
    using Visit = std::function<bool(const std::string& from, const core::Delivery&, std::size_t number)>;
    /// Throws amqp::Error.
    ParkedOverview browse(const Visit& visit);

    Broker& broker() { return *broker_; }
    const StopSign& stop() const { return stop_; }
    Progress& progress() { return progress_; }
    const admin::Selection& selection() const { return selection_; }
    /// The keys that prove what retryd has parked.
    const core::ProofKeys& proof_keys() const { return proof_keys_; }
    core::WallTime now() const { return now_; }

  private:
    void browse_parking_queue(const std::string& name, ParkedOverview& overview, const Visit& visit, bool& enough);
    BrowseResult browse_around_undeliverable(ParkingQueueOverview& queue, const Visitor& visit,
                                             const std::function<void()>& anew);
    std::string take_out_undeliverable(ParkingQueueOverview& queue);
    const admin::VhostPolicies* vhost_policies();

    Progress& progress_;
    const config::Settings& settings_;
    const ParkedOptions& options_;
    const StopSign stop_;
    std::unique_ptr<Broker> broker_;
    core::ProofKeys proof_keys_;
    std::optional<admin::VhostPolicies> vhost_policies_;
    bool asked_for_policies_ = false;
    admin::Selection selection_;
    core::WallTime now_;
};

/// Prints each queue with its groups, then what could not be seen. `now` is used for ages.
void print_overview(const ParkedOverview& overview, core::WallTime now, bool colour, std::ostream& out);
nlohmann::ordered_json json_of(const ParkedOverview& overview);

struct FoundMessage {
    std::string from;  // the parking queue
    core::OwnedDelivery delivery;

    const core::Message& message() const { return delivery.get().message; }
};

struct OneMessage {
    std::optional<FoundMessage> found;
    std::string fault;  // why there is no such message; empty if there is
};

/// `number`: which of the selected messages, counted from the oldest, from 1. Throws amqp::Error.
OneMessage find_one(ParkingQueuesBrowser& browser, std::size_t number);

}  // namespace retryd::commands
