#include "commands/waiting/waiting_rungs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/safe_text.h"
#include "core/topology.h"
#include "http/client.h"

namespace retryd::commands {

namespace {

class RungFinder {
  public:
    RungFinder(Broker& broker, const core::Policy& policy, const std::string& work_queue)
        : broker_(broker), policy_(policy), work_queue_(work_queue) {}

    WaitingRungs find() {
        for (const core::Entry& entry : policy_.entries)
            add(entry);
        add_listed();
        WaitingRungs found;
        found.notes = std::move(notes_);
        for (auto& [name, rung] : rungs_) {
            const auto there = broker_.carry_out(amqp::Declarer::CheckQueue{name});
            if (there.result == amqp::Declarer::Result::missing) continue;
            if (there.result == amqp::Declarer::Result::refused)
                found.notes.push_back("rung " + core::quoted(name) + ": " + there.text);
            found.rungs.push_back({name, std::move(rung), there.counts.messages});
        }
        return found;
    }

  private:
    bool wanted(const std::string& name) const { return work_queue_.empty() || core::glob_matches(work_queue_, name); }

    /// Those whose names the configuration tells.
    void add(const core::Entry& entry) {
        const bool shared = entry.ladder.return_path == core::ReturnPath::headers;
        std::string serves = shared ? entry.ladder.name : entry.match;
        if (!shared && core::is_glob(entry.match)) {
            if (work_queue_.empty() || core::is_glob(work_queue_)) {
                any_glob_ = true;
                return;
            }
            serves = work_queue_;
        }
        if (!shared && (!wanted(serves) || core::match(policy_, serves) != &entry)) return;
        const bool split = core::features_of(broker_.identity().version).priority_blocks_expiry;
        for (const core::Milliseconds delay : core::distinct_delays(entry.ladder)) {
            for (const bool high : {false, true}) {
                if (high && !split) continue;
                rungs_.try_emplace(core::rung_name_of(entry.ladder, serves, delay, high),
                                   core::ParsedRung{serves, entry.ladder.return_path, delay, entry.ladder.x_death});
            }
        }
    }

    /// Those of globs, and those that a former ladder has left.
    void add_listed() {
        if (broker_.management() == nullptr) {
            if (any_glob_)
                notes_.push_back(
                    "the rungs of globs were not looked for: AMQP cannot list queues. Set management.url; "
                    "or name a work queue with --queue NAME");
            return;
        }
        try {
            for (const http::ListedQueue& queue : broker_.management()->queues()) {
                const auto rung = core::parse_rung(queue.name, queue.arguments);
                if (rung && serves_us(*rung)) rungs_.try_emplace(queue.name, *rung);
            }
        } catch (const http::Error& error) {
            notes_.push_back(std::string{"the rungs of globs, and those of former ladders, were not looked for: "} +
                             error.what());
        }
    }

    bool serves_us(const core::ParsedRung& rung) const {
        if (rung.return_path == core::ReturnPath::queue)
            return wanted(rung.serves) && core::match(policy_, rung.serves) != nullptr;
        return std::any_of(policy_.entries.begin(), policy_.entries.end(),
                           [&](const core::Entry& entry) { return entry.ladder.name == rung.serves; });
    }

    Broker& broker_;
    const core::Policy& policy_;
    const std::string& work_queue_;
    std::map<std::string, core::ParsedRung> rungs_;
    std::vector<std::string> notes_;
    bool any_glob_ = false;
};

}  // namespace

WaitingRungs find_waiting_rungs(Broker& broker, const core::Policy& policy, const std::string& work_queue) {
    return RungFinder(broker, policy, work_queue).find();
}

}  // namespace retryd::commands
