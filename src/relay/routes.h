// Where messages of each work queue can go: its rungs and its parking queue, and what is known of them on the broker.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/policy.h"
#include "core/time.h"
#include "core/topology.h"

namespace retryd::relay {

/// A queue of ours that messages are published to.
struct Target {
    enum class State { unknown, declaring, ready, refused };

    core::QueueSpec spec;
    core::Milliseconds delay{};  // of a rung; zero for a parking queue
    State state = State::unknown;
    core::SteadyTime refused_until{};  // when refused: not asked for again before
    bool reported = false;             // its refusal has been reported and not yet its healing
    int failures = 0;                  // nacks and returns since the last success, for the backoff

    const std::string& name() const { return spec.name; }
};

/// What is known of a work queue that only a glob names: x-death may be forged, and rungs for a queue that does not
/// exist would hold their messages for ever.
enum class Existence { unasked, asking, exists, missing };

struct Route {
    struct Rung {
        core::Milliseconds delay{};
        std::shared_ptr<Target> normal;
        std::shared_ptr<Target> high;  // made when the first message with a high priority comes
    };

    std::string work_queue;
    const core::Entry* entry = nullptr;
    std::vector<Rung> rungs;
    std::shared_ptr<Target> parked;
    Existence existence = Existence::unasked;
};

class Routes {
  public:
    /// `policy` must outlive this.
    Routes(const core::Policy& policy, const core::BrokerFeatures& features);

    /// Null where no entry matches.
    std::shared_ptr<Route> of(std::string_view work_queue);

    /// The rung of that delay, which must be one of the route's ladder.
    std::shared_ptr<Target> rung(Route& route, core::Milliseconds delay, bool high_priority);

    std::shared_ptr<Target> parked(Route& route);

    /// Null where no queue of ours has that name.
    std::shared_ptr<Target> target(std::string_view queue) const;

    const std::shared_ptr<Target>& catch_all() const { return catch_all_; }

    void forget(const Route& route);

  private:
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    template <typename T>
    using ByName = std::unordered_map<std::string, std::shared_ptr<T>, Hash, std::equal_to<>>;

    std::shared_ptr<Target> intern(core::QueueSpec spec, core::Milliseconds delay);
    std::shared_ptr<Route> make(std::string_view work_queue, const core::Entry& entry);

    const core::Policy& policy_;
    core::BrokerFeatures features_;
    ByName<Route> routes_;
    ByName<Target> targets_;
    std::shared_ptr<Target> catch_all_;
};

}  // namespace retryd::relay
