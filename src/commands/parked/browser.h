// What is parked, seen without taking anything out: which parking queues there are, which of their messages are meant,
// how many by work queue and reason, and what could not be seen. Every `parked` command begins with it.
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

/// What all `parked` commands are told.
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
    // As admin::Selection has them; no option says so.
    const core::Message* exactly = nullptr;
    admin::MessageChoice* among = nullptr;
    std::string replay = {};
};

admin::Selection selection_of(const ParkedOptions& options, core::WallTime now);

/// Messages of one work queue that are parked for one reason.
struct ParkedGroup {
    std::size_t messages = 0;
    std::size_t replayed = 0;             // of these were sent back before, and failed again
    std::uint64_t bytes = 0;              // of bodies
    std::optional<std::uint64_t> oldest;  // parked at, seconds
    std::optional<std::uint64_t> newest;
};

void count_into(ParkedGroup& group, const admin::Parked& parked, const core::Message& message);

class ParkedGroups {
  public:
    /// So many at most of those that anybody can make up; what comes after them is one group, with this reason.
    static constexpr std::size_t most = 10'000;
    static constexpr const char* others = "(others)";

    void add(const admin::Parked& parked, const core::Message& message);

    /// By work queue and reason; both may be empty, where they are unknown.
    const std::map<std::pair<std::string, std::string>, ParkedGroup>& all() const { return groups_; }
    std::size_t messages() const { return messages_; }

  private:
    std::map<std::pair<std::string, std::string>, ParkedGroup> groups_;
    std::size_t messages_ = 0;
};

struct ParkingQueueOverview {
    std::string name;
    std::size_t messages = 0;   // that lay there
    std::size_t looked_at = 0;  // fewer where more lie there than can be held at once, or somebody was faster
    ParkedGroups selected;
    std::string fault;  // why it was not looked at, or not to its end; cause, consequence, remedy
    /// Those that RabbitMQ cannot hand over by AMQP 0-9-1, and that are held meanwhile; null: there are none.
    std::shared_ptr<amqp::Undeliverable> held = nullptr;
    bool held_selected = false;

    std::size_t undeliverable() const { return held ? held->held().size() : 0; }
};

struct ParkedOverview {
    std::vector<ParkingQueueOverview> queues;  // those that are there
    std::vector<std::string> notes;            // what could not be seen
    std::string fault;                         // why there is nothing to look at at all
    bool interrupted = false;

    std::size_t selected() const;
    /// Besides, of those that cannot be handed over.
    std::size_t undeliverable_selected() const;
    bool complete() const;
};

/// Connects to a broker and looks at the parking queues there. Keeps references to its arguments.
class ParkedBrowser {
  public:
    /// Throws amqp::Error.
    ParkedBrowser(const config::Settings& settings, const ParkedOptions& options, core::WallTime now, StopSign stop,
                  Progress& progress);

    /// With each selected message and its number, from 1 on; false: it has seen enough. Where something came in
    /// between, it is called anew from a lower number on.
    using Visit = std::function<bool(const std::string& from, const core::Delivery&, std::size_t number)>;
    /// Throws amqp::Error.
    ParkedOverview browse(const Visit& visit);

    Broker& broker() { return *broker_; }
    const StopSign& stop() const { return stop_; }
    Progress& progress() { return progress_; }
    const admin::Selection& selection() const { return selection_; }
    /// By which it knows what retryd has parked.
    const core::ProofKeys& proof_keys() const { return proof_keys_; }
    core::WallTime now() const { return now_; }

  private:
    void browse_parking_queue(const std::string& name, ParkedOverview& overview, const Visit& visit, bool& enough);
    BrowseResult browse_around_undeliverable(ParkingQueueOverview& queue, const Visitor& visit,
                                             const std::function<void()>& anew);
    std::string hold_undeliverable(ParkingQueueOverview& queue);
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

/// Of each queue its groups, then what could not be seen. `now`: what ages are counted to.
void print_overview(const ParkedOverview& overview, core::WallTime now, bool colour, std::ostream& out);
nlohmann::ordered_json json_of(const ParkedOverview& overview);

struct FoundMessage {
    std::string from;  // the parking queue
    core::OwnedDelivery delivery;

    const core::Message& message() const { return delivery.get().message; }
};

struct OneMessage {
    std::optional<FoundMessage> found;
    std::string fault;  // why there is none; empty where there is one
};

/// `number`: which of the selected, counted from the oldest, from 1 on. Throws amqp::Error.
OneMessage find_one(ParkedBrowser& browser, std::size_t number);

}  // namespace retryd::commands
