#include "commands/parked/age_out.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "admin/parked_run.h"
#include "amqp/proof_keys.h"
#include "commands/common/broker.h"
#include "commands/common/text.h"
#include "commands/parked/archive_file.h"
#include "commands/parked/parked_queues.h"
#include "commands/parked/runner.h"
#include "core/fingerprint.h"
#include "core/names.h"
#include "core/policy.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

using core::Milliseconds;
using core::SteadyTime;
using Action = admin::ParkedRunOrder::Action;

constexpr Milliseconds soon{60'000};
/// Each attempt counts as a delivery of the messages that were held: with one a minute, forever, the delivery limit
/// would be reached in two years.
constexpr Milliseconds after_a_fault{5 * 60'000};
constexpr Milliseconds at_least_daily{24 * 3'600'000};
/// The clock of the daemon that parked it may be ahead.
constexpr Milliseconds clocks_differ{10 * 60'000};
/// The most bytes of messages that wait to be written to disk.
constexpr std::size_t most_waiting_bytes = std::size_t{16} * 1024 * 1024;

std::uint64_t seconds_of(core::WallTime time) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count());
}

std::string joined(const std::string& folder, const std::string& name) {
    return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

class AgeOut {
  public:
    AgeOut(const config::Settings& settings, admin::AgeMemory before, const std::function<bool()>& go_on)
        : settings_(settings),
          before_(std::move(before)),
          go_on_(go_on),
          broker_(connect(settings, "retryd parked age")),
          proof_keys_(amqp::proof_keys(settings)) {
        if (broker_->management() == nullptr) return;
        try {
            vhost_policies_ = broker_->management()->vhost_policies();
        } catch (const http::Error&) {
            // usually the arguments of a queue are enough
        }
    }

    admin::AgeRun run() {
        found_.next = at_least_daily;
        try {
            for (const core::Entry& entry : settings_.policy.entries)
                look_at(entry);
        } catch (const std::exception& error) {
            // What was taken out before the error has to be reported all the same.
            found_.queues.push_back({"", "", 0, error.what()});
            found_.next = after_a_fault;
            found_.complete = false;
        }
        found_.memory.merge(before_);
        return std::move(found_);
    }

  private:
    void look_at(const core::Entry& entry) {
        if (!entry.parked_age) return;
        next_in(entry.parked_age->max);  // there may be more queues then
        for (const std::string& queue : queues_of(entry))
            look_if_due(entry, queue);
    }

    /// Leaves out the catch-all: its messages belong to no entry, or came there another way.
    std::vector<std::string> queues_of(const core::Entry& entry) {
        core::Policy alone = settings_.policy;
        alone.entries = {entry};
        ParkingQueues parking = parking_queues(*broker_, alone, "");
        found_.not_seen.insert(found_.not_seen.end(), parking.notes.begin(), parking.notes.end());
        std::erase_if(parking.names, [&](const std::string& name) {
            return name == settings_.policy.catch_all || is_of_another(entry, name);
        });
        return std::move(parking.names);
    }

    /// The parking queues of a glob are recognised by the form of their names, which the parking queue of a named entry
    /// may have too.
    bool is_of_another(const core::Entry& entry, const std::string& parking_queue) const {
        const core::BrokerFeatures features = core::features_of(broker_->identity().version);
        const auto& entries = settings_.policy.entries;
        return core::is_glob(entry.match) && std::any_of(entries.begin(), entries.end(), [&](const core::Entry& other) {
                   return !core::is_glob(other.match) && other.parked.exchange.empty() &&
                          other.parked != entry.parked &&
                          core::parking_queue_of(other.parked, other.match, features) == parking_queue;
               });
    }

    void look_if_due(const core::Entry& entry, const std::string& queue) {
        const SteadyTime begun = system::steady_now();
        const std::pair key{entry.match, queue};
        const auto known = before_.find(key);
        admin::QueueAgeMemory& memory = found_.memory[key];
        if (known != before_.end()) memory = known->second;
        if (go_on_() && memory.due <= begun) {
            const Milliseconds next = look(entry, queue, memory);
            memory.due = system::steady_now() + next;
        } else if (!memory.fault.empty()) {
            found_.queues.push_back({queue, "", 0, memory.fault});
        }
        next_in(memory.due - begun);
    }

    /// Returns when the next look is worthwhile.
    Milliseconds look(const core::Entry& entry, const std::string& queue, admin::QueueAgeMemory& memory) {
        memory.fault.clear();
        const BrowsePermission permission =
            may_browse(*broker_, vhost_policies_ ? &*vhost_policies_ : nullptr, queue, false);
        if (permission.exists && !permission.allowed) {
            memory.fault = permission.why_not;
            found_.queues.push_back({queue, "", 0, memory.fault});
            return after_a_fault;
        }
        // A consumer that looks or replays now has the messages at the head.
        if (permission.consumers > 0) return soon;
        if (permission.messages == 0) return next_look_after({entry.parked_age->max, {}, 0, {}});
        return take_out(entry, queue, permission.messages, memory);
    }

    Milliseconds take_out(const core::Entry& entry, const std::string& queue, std::size_t ready,
                          admin::QueueAgeMemory& memory) {
        const SteadyTime begun = system::steady_now();
        const core::WallTime now = system::wall_now();
        const core::ParkedAge& rule = *entry.parked_age;
        const std::string file = rule.archive.empty() ? "" : joined(rule.archive, archive_name(queue, seconds_of(now)));
        ArchiveFile archive(file);
        ParkedRunner runner(settings_, *broker_, {[this] { return !go_on_(); }, -1}, nullptr, nullptr);
        if (!file.empty()) runner.archive_into(&archive);
        runner.keep_few_unacked(memory.given_back);
        const ParkedRunResult result =
            runner.run(queue, ready, order_for(entry, queue, ready, now), [](const auto&, auto&) {});
        const std::size_t messages = result.counts.done;
        memory.fault = fault_of(result, archive);
        memory.given_back = result.given_back;
        if (messages > 0 || !memory.fault.empty()) found_.queues.push_back({queue, file, messages, memory.fault});
        if (!memory.fault.empty()) return after_a_fault;
        if (result.end == admin::ParkedRun::End::interrupted) return Milliseconds{0};
        AgeLook look{rule.max, {}, result.counts.not_selected, system::steady_now() - begun};
        if (result.younger_at) {
            look.until = time_left(rule, *result.younger_at, now);
            --look.stay;
        }
        return next_look_after(look);
    }

    admin::ParkedRunOrder order_for(const core::Entry& entry, const std::string& queue, std::size_t ready,
                                    core::WallTime now) const {
        admin::ParkedRunOrder order;
        order.action = entry.parked_age->archive.empty() ? Action::drop : Action::archive;
        order.selection.parked_before = now - entry.parked_age->max;
        order.stop_at_younger = now + clocks_differ;
        // A message without retryd's proof may be of any age and from any queue: somebody has put it there, or moved
        // it.
        order.belongs = [this, &entry](const admin::Parked& parked) {
            return parked.by_retryd && core::match(settings_.policy, parked.queue) == &entry;
        };
        order.count = ready;
        order.most_waiting_bytes = most_waiting_bytes;
        order.error_queue = settings_.policy.error_queue;
        order.from = queue;
        order.proof_keys = proof_keys_;
        return order;
    }

    static Milliseconds time_left(const core::ParkedAge& rule, std::uint64_t parked_at, core::WallTime now) {
        const core::WallTime at{std::chrono::seconds{static_cast<std::int64_t>(parked_at)}};
        return std::chrono::duration_cast<Milliseconds>(at + rule.max - now);
    }

    static std::string fault_of(const ParkedRunResult& result, const ArchiveFile& archive) {
        using End = admin::ParkedRun::End;
        if (!result.fault.empty()) return result.fault;
        if (!archive.fault().empty()) {
            return archive.fault() +
                   ". Its folder has to be there, writable for retryd's user and not full, and in the systemd unit's "
                   "ReadWritePaths= or StateDirectory=";
        }
        if (result.end == End::held) return "one consumer cannot hold more messages that stay (RabbitMQ before 3.10)";
        return result.end == End::broker ? result.why : "";
    }

    void next_in(Milliseconds time) { found_.next = std::min(found_.next, time); }

    const config::Settings& settings_;
    admin::AgeMemory before_;
    const std::function<bool()>& go_on_;
    std::unique_ptr<Broker> broker_;
    core::ProofKeys proof_keys_;
    std::optional<admin::VhostPolicies> vhost_policies_;
    admin::AgeRun found_;
};

}  // namespace

admin::AgeRun age_out(const config::Settings& settings, const config::Endpoint& endpoint, admin::AgeMemory before,
                      const std::function<bool()>& go_on) {
    config::Settings here = settings;
    here.broker.endpoints = {endpoint};
    return AgeOut(here, std::move(before), go_on).run();
}

Milliseconds next_look_after(const AgeLook& look) {
    constexpr Milliseconds an_hour{3'600'000};
    constexpr Milliseconds past_others{15 * 60'000};
    constexpr int part_of_the_time = 100;
    Milliseconds at_least = std::clamp(look.max / 100, soon, an_hour);
    if (look.stay > 0) at_least = std::max(at_least, past_others);
    at_least = std::max(at_least, look.took * part_of_the_time);
    return std::min(std::max(look.until.value_or(look.max), at_least), at_least_daily);
}

std::string archive_name(std::string_view queue, std::uint64_t seconds) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    constexpr std::string_view digits = "0123456789ABCDEF";
    constexpr std::size_t longest = 200;
    std::string name;
    for (const char c : queue) {
        const auto byte = static_cast<unsigned char>(c);
        if (plain.find(c) != std::string_view::npos && !(name.empty() && c == '.')) {
            name += c;
        } else {
            name += {'%', digits[byte >> 4U], digits[byte & 0xfU]};
        }
    }
    if (name.size() > longest) name = name.substr(0, longest) + "~" + core::hex(core::fnv1a(queue));
    return name + "-" + utc(seconds).substr(0, std::string_view{"2026-03-01"}.size()) + ".ndjson";
}

}  // namespace retryd::commands
