#include "core/attachment_needs.h"

#include <algorithm>

namespace retryd::core {
namespace {

using State = Standing::State;

constexpr const char* at_least_once = "\"at-least-once\"";
constexpr const char* reject_publish = "\"reject-publish\"";

std::string out_of_reach(const std::string& exchange) {
    const std::string fixed = "its dead-letter exchange " + exchange +
                              " is fixed by argument, and no policy overrides that: rejected messages do not come to "
                              "retryd. ";
    if (exchange == "\"\"") return fixed + "Make the queue anew without x-dead-letter-exchange";
    return fixed + "Name that exchange in errors.bind, {exchange: " + exchange +
           "}, or make the queue anew without x-dead-letter-exchange";
}

class QuorumNeeds {
  public:
    QuorumNeeds(const GovernedQueue& queue, const Effective& effective)
        : limited_(effective.is_limited(queue)),
          overflow_(effective.quorum_overflow(queue)),
          strategy_(effective.dead_letter_strategy(queue)) {}

    void add_to(Needs& needs) const {
        needs.note = why_not();
        if (!needs.note.empty()) return;
        if (strategy_.value != at_least_once) needs.keys["dead-letter-strategy"] = at_least_once;
        if (overflow_.value != reject_publish) needs.keys["overflow"] = reject_publish;
    }

  private:
    /// Why its dead letters are not made at-least-once; empty where they are or can be.
    std::string why_not() const {
        const std::string hop = "its way to the error queue is at-most-once: ";
        if (strategy_.source == Source::argument && strategy_.value != at_least_once) {
            return hop + "x-dead-letter-strategy is fixed by argument; make the queue anew without it";
        }
        if (overflow_.value == reject_publish) return "";
        if (overflow_.source != Source::none) {
            return hop + "at-least-once needs overflow reject-publish, and " + set_by(overflow_.source) + " says " +
                   overflow_.value + "; change that there if publishers may be refused when the queue is full";
        }
        if (limited_) {
            return hop +
                   "at-least-once needs overflow reject-publish, but its length is limited, and publishers would be "
                   "refused where now the oldest messages are dropped; set overflow by yourself if they may be";
        }
        return "";
    }

    static std::string set_by(Source source) {
        if (source == Source::argument) return "its argument x-overflow";
        return source == Source::policy ? "its policy" : "an operator policy";
    }

    bool limited_;
    Setting overflow_;
    Setting strategy_;
};

}  // namespace

bool leads_to_error_queue(const Policy& policy, const std::string& exchange) {
    if (exchange == json_string(policy.error_exchange)) return true;
    return std::any_of(policy.error_bindings.begin(), policy.error_bindings.end(),
                       [&](const ErrorBinding& bound) { return json_string(bound.exchange) == exchange; });
}

Needs needs_of(const GovernedQueue& queue, const Policy& policy, const Governance& governance) {
    if (queue.type != "classic" && queue.type != "quorum") {
        return {State::out_of_reach, {}, "a " + queue.type + " queue cannot dead-letter", ""};
    }
    const Effective effective(governance);
    const Setting exchange = effective.dead_letter_exchange(queue);
    const bool ours = exchange.source != Source::none && leads_to_error_queue(policy, exchange.value);
    if (exchange.source == Source::argument && !ours) {
        return {State::out_of_reach, {}, out_of_reach(exchange.value), ""};
    }
    Needs needs;
    if (!ours) {
        needs.keys["dead-letter-exchange"] = json_string(policy.error_exchange);
        needs.taken_from = exchange.value;
    }
    if (queue.type == "quorum" && features_of(governance.version).quorum_ttl) {
        QuorumNeeds(queue, effective).add_to(needs);
    }
    if (!needs.keys.empty()) needs.state = State::to_attach;
    return needs;
}

}  // namespace retryd::core
