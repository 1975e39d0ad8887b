#include "admin/permissions.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>

#include "admin/patterns.h"
#include "core/names.h"
#include "core/text.h"

namespace retryd::admin {

namespace {

constexpr const char* default_exchange = "amq.default";

class PermissionCollector {
  public:
    explicit PermissionCollector(bool declares) : declares_(declares) {}

    std::vector<NeededPermission> found;

    void add_base(const core::Policy& policy) {
        add("read", policy.error_queue);
        for (const core::Source& source : policy.sources) {
            if (!core::is_glob(source.queue)) add("read", source.queue);
        }
        for (const core::Entry& entry : policy.entries)
            add_aged(entry);
        add("write", default_exchange);
    }
    void add(const core::TopologyItem& item) {
        std::visit([this](const auto& each) { add_for(each); }, item);
    }
    void add(const core::DesiredItem& wanted) {
        add(wanted.item);
        if (wanted.role == core::DesiredItem::ItemRole::rung_exchange) add("write", name_of(wanted.item));
        if (wanted.role == core::DesiredItem::ItemRole::held) add("read", name_of(wanted.item));
    }

  private:
    /// Adds what `parked_age` needs, which takes messages out of parking queues.
    void add_aged(const core::Entry& entry) {
        const bool one_queue =
            !core::is_glob(entry.match) || entry.parked.queue.find(core::queue_placeholder) == std::string::npos;
        if (entry.parked_age && entry.parked.exchange.empty() && one_queue)
            add("read", core::expand_queue(entry.parked.queue, entry.match));
    }
    void add_for(const core::ExchangeSpec& exchange) {
        if (!declares_) return;
        add("configure", exchange.name);
        // Naming an alternate exchange needs the same permission as publishing to it.
        for (const auto& [key, value] : exchange.arguments) {
            if (key != "alternate-exchange") continue;
            add("read", exchange.name);
            add("write", std::get<std::string>(value));
        }
    }
    void add_for(const core::QueueSpec& queue) {
        if (!declares_) return;
        add("configure", queue.name);
        for (const auto& [key, value] : queue.arguments) {
            if (key != "x-dead-letter-exchange") continue;
            const auto& exchange = std::get<std::string>(value);
            add("read", queue.name);
            add("write", exchange.empty() ? default_exchange : exchange);
        }
    }
    void add_for(const core::BindingSpec& binding) {
        add("write", binding.queue);
        add("read", binding.exchange);
    }
    void add_for(const core::ForeignExchange& exchange) { add("write", exchange.name); }

    void add(std::string_view operation, const std::string& name) {
        const NeededPermission needed{operation, name};
        if (std::find(found.begin(), found.end(), needed) == found.end()) found.push_back(needed);
    }

    bool declares_;
};

/// One of a user's three patterns. If it is unclear what it permits, it counts as permitted: better no finding than a
/// wrong one.
class PermissionPattern {
  public:
    /// RabbitMQ treats an empty pattern like this one.
    explicit PermissionPattern(const std::string& pattern) : pattern_(pattern.empty() ? "^$" : pattern) {}

    bool may_permit(const std::string& name) const { return pattern_.matches(name).value_or(true); }
    bool surely_permits(const std::string& name) const { return pattern_.matches(name).value_or(false); }

  private:
    BrokerPattern pattern_;
};

}  // namespace

std::vector<NeededPermission> needed_permissions(const core::Policy& policy,
                                                 const std::vector<core::DesiredItem>& wanted, bool declares) {
    PermissionCollector collector(declares);
    collector.add_base(policy);
    for (const core::DesiredItem& each : wanted)
        collector.add(each);
    return std::move(collector.found);
}

std::vector<NeededPermission> permissions_to_declare(const core::TopologyItem& item) {
    PermissionCollector collector(true);
    collector.add(item);
    return std::move(collector.found);
}

std::vector<NeededPermission> missing_permissions(const std::vector<NeededPermission>& needed,
                                                  const Permissions& given) {
    const PermissionPattern configure(given.configure);
    const PermissionPattern write(given.write);
    const PermissionPattern read(given.read);
    std::vector<NeededPermission> found;
    std::copy_if(needed.begin(), needed.end(), std::back_inserter(found), [&](const NeededPermission& each) {
        const PermissionPattern& pattern = each.operation == "configure" ? configure
                                           : each.operation == "write"   ? write
                                                                         : read;
        return !pattern.may_permit(each.name);
    });
    return found;
}

namespace {

/// Whether the user may declare a queue that names the exchange in an argument, for which RabbitMQ requires write
/// permission on that exchange.
bool may_declare_one_that_needs(const PermissionPattern& configure, const VhostPolicies& vhost_policies,
                                const std::string& exchange) {
    const std::string wanted = core::json_string(exchange);
    return std::any_of(vhost_policies.queues.begin(), vhost_policies.queues.end(), [&](const QueuePolicies& queue) {
        return argument(queue, "dead-letter-exchange") == wanted && configure.may_permit(queue.name);
    });
}

std::vector<std::string> exchanges_to_guard(const core::Policy& policy) {
    std::vector<std::string> exchanges{policy.error_exchange};
    for (const core::ErrorBinding& binding : policy.error_bindings) {
        if (std::find(exchanges.begin(), exchanges.end(), binding.exchange) == exchanges.end())
            exchanges.push_back(binding.exchange);
    }
    if (core::has_shared_ladder(policy)) exchanges.emplace_back(core::return_exchange_name);
    return exchanges;
}

}  // namespace

std::vector<NeedlessWriter> needless_writers(const core::Policy& policy, const VhostPolicies& vhost_policies,
                                             const std::vector<UserPermissions>& users, std::string_view own_user) {
    std::vector<NeedlessWriter> found;
    for (const UserPermissions& each : users) {
        const PermissionPattern write(each.permissions.write);
        if (each.user == own_user || write.may_permit(default_exchange)) continue;
        const PermissionPattern configure(each.permissions.configure);
        for (const std::string& exchange : exchanges_to_guard(policy)) {
            if (write.surely_permits(exchange) && !may_declare_one_that_needs(configure, vhost_policies, exchange))
                found.push_back({each.user, exchange});
        }
    }
    return found;
}

namespace {

/// Placeholder in a name for the glob in its pattern; no real name contains this character.
constexpr char mark = '\x01';
constexpr const char* any_delay = "[0-9dhms]+";
constexpr const char* of_any_priority = "(\\.high)?";

std::string marked(std::size_t entry) {
    return mark + std::to_string(entry) + mark;
}

/// The policy with a name in place of each glob, so that all its queues can be listed by name.
core::Policy without_globs(core::Policy policy) {
    for (std::size_t i = 0; i < policy.entries.size(); ++i) {
        if (core::is_glob(policy.entries[i].match)) policy.entries[i].match = marked(i);
    }
    return policy;
}

/// Alternatives that share a beginning and an end.
class Pattern {
  public:
    explicit Pattern(const core::Policy& policy) : policy_(policy) {}

    void add(const std::string& name) { alternatives_.insert(pattern_of(name)); }
    void add_pattern(const std::string& pattern) { alternatives_.insert(pattern); }

    std::string text() const {
        std::string all;
        for (const std::string& each : alternatives_)
            all.append(all.empty() ? "^(" : "|").append(each);
        return all.empty() ? "^$" : all + ")$";
    }

  private:
    std::string pattern_of(const std::string& name) const {
        const bool rung = core::looks_like_rung(name) || core::looks_like_shared_rung(name);
        if (!rung) return with_globs(pattern_of_name(name));
        std::string_view rest = name;
        if (rest.ends_with(".high")) rest.remove_suffix(rest.size() - rest.rfind('.'));
        const bool keeps_x_death = core::looks_like_x_death_rung(rest);
        if (keeps_x_death) rest.remove_suffix(rest.size() - rest.rfind('.'));
        return with_globs(pattern_of_name(name.substr(0, rest.rfind('.') + 1))) + any_delay +
               (keeps_x_death ? "\\.x-death" : "") + of_any_priority;
    }

    std::string with_globs(std::string pattern) const {
        for (std::size_t i = 0; i < policy_.entries.size(); ++i) {
            const std::string stand_in = marked(i);
            const std::size_t at = pattern.find(stand_in);
            if (at != std::string::npos)
                pattern.replace(at, stand_in.size(), pattern_of_glob(policy_.entries[i].match));
        }
        return pattern;
    }

    const core::Policy& policy_;
    std::set<std::string> alternatives_;
};

struct Patterns {
    explicit Patterns(const core::Policy& policy) : configure(policy), write(policy), read(policy) {}

    void add(const NeededPermission& needed) {
        Pattern& pattern = needed.operation == "configure" ? configure : needed.operation == "write" ? write : read;
        pattern.add(needed.name);
    }
    Permissions text() const { return {configure.text(), write.text(), read.text()}; }

    Pattern configure;
    Pattern write;
    Pattern read;
};

/// The oldest supported version has no at-least-once rungs and so needs fewer permissions; those of any later one are
/// enough for all.
constexpr core::BrokerVersion needs_the_most{4, 0, 0};

}  // namespace

Permissions daemon_permissions(const core::Policy& policy, bool declares) {
    const core::Policy named = without_globs(policy);
    Patterns patterns(policy);
    for (const NeededPermission& needed :
         needed_permissions(named, desired_topology(named, features_of(needs_the_most)), declares))
        patterns.add(needed);
    return patterns.text();
}

Permissions replay_permissions(const core::Policy& policy) {
    const std::string own = "retryd\\.replay\\..*";
    Patterns patterns(policy);
    for (Pattern* pattern : {&patterns.configure, &patterns.write, &patterns.read})
        pattern->add_pattern(own);
    patterns.write.add("amq.default");
    if (has_shared_ladder(policy)) patterns.write.add(std::string{core::return_exchange_name});
    patterns.read.add(policy.error_exchange);
    patterns.read.add(policy.catch_all);
    const core::Policy named = without_globs(policy);
    for (const core::Entry& entry : named.entries) {
        // From 4.2.6 on RabbitMQ tells whether a queue exists only to users with some permission on it. Write
        // permission gives least away: whoever may publish through the default exchange reaches the queue anyway.
        patterns.write.add(entry.match);
        if (entry.parked.exchange.empty()) {
            patterns.read.add(core::expand_queue(entry.parked.queue, entry.match));
        } else {
            patterns.write.add(entry.parked.exchange);  // for `retryd waiting park`
        }
    }
    for (const core::DesiredItem& wanted : desired_topology(named, features_of(needs_the_most)))
        if (wanted.role == core::DesiredItem::ItemRole::rung) patterns.read.add(name_of(wanted.item));
    for (const core::ErrorBinding& binding : policy.error_bindings)
        patterns.read.add(binding.exchange);
    return patterns.text();
}

}  // namespace retryd::admin
