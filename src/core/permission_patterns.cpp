#include "core/permission_patterns.h"

#include <set>
#include <string>

#include "core/names.h"
#include "core/queue_pattern.h"

namespace retryd::core {
namespace {

/// Stands in a name where a glob will stand in its pattern: no name of anyone's has it.
constexpr char mark = '\x01';
constexpr const char* any_delay = "[0-9dhms]+(\\.high)?";

std::string marked(std::size_t entry) {
    return mark + std::to_string(entry) + mark;
}

/// The policy with a name in the place of each glob, so that everything it will ever want is wanted by name.
Policy without_globs(Policy policy) {
    for (std::size_t i = 0; i < policy.entries.size(); ++i) {
        if (is_glob(policy.entries[i].match)) policy.entries[i].match = marked(i);
    }
    return policy;
}

/// Alternatives that share a beginning and an end.
class Pattern {
  public:
    explicit Pattern(const Policy& policy) : policy_(policy) {}

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
        const bool rung = looks_like_rung(name) || looks_like_shared_rung(name);
        if (!rung) return with_globs(pattern_of_name(name));
        const std::size_t high = name.ends_with(".high") ? name.rfind('.') : name.size();
        return with_globs(pattern_of_name(name.substr(0, name.rfind('.', high - 1) + 1))) + any_delay;
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

    const Policy& policy_;
    std::set<std::string> alternatives_;
};

struct Patterns {
    explicit Patterns(const Policy& policy) : configure(policy), write(policy), read(policy) {}

    void add(const NeededPermission& needed) {
        Pattern& pattern = needed.operation == "configure" ? configure : needed.operation == "write" ? write : read;
        pattern.add(needed.name);
    }
    Permissions text() const { return {configure.text(), write.text(), read.text()}; }

    Pattern configure;
    Pattern write;
    Pattern read;
};

/// The oldest that is supported has no rungs with at-least-once dead-lettering, and so needs the least; any later one
/// will do for all.
constexpr BrokerVersion needs_the_most{4, 0, 0};

}  // namespace

Permissions daemon_permissions(const Policy& policy, bool declares) {
    const Policy named = without_globs(policy);
    Patterns patterns(policy);
    for (const NeededPermission& needed :
         needed_permissions(named, wanted(named, features_of(needs_the_most)), declares))
        patterns.add(needed);
    return patterns.text();
}

Permissions replay_permissions(const Policy& policy) {
    const std::string own = "retryd\\.replay\\..*";
    Patterns patterns(policy);
    for (Pattern* pattern : {&patterns.configure, &patterns.write, &patterns.read})
        pattern->add_pattern(own);
    patterns.write.add("amq.default");
    if (has_shared_ladder(policy)) patterns.write.add(std::string{return_exchange_name});
    patterns.read.add(policy.error_exchange);
    patterns.read.add(policy.catch_all);
    const Policy named = without_globs(policy);
    for (const Entry& entry : named.entries) {
        if (entry.parked.exchange.empty()) patterns.read.add(expand_queue(entry.parked.queue, entry.match));
    }
    for (const ErrorBinding& binding : policy.error_bindings)
        patterns.read.add(binding.exchange);
    return patterns.text();
}

}  // namespace retryd::core
