#include "core/permissions.h"

#include <algorithm>
#include <regex>

namespace retryd::core {
namespace {

constexpr const char* default_exchange = "amq.default";

class Needed {
  public:
    Needed(const Policy& policy, bool declares) : policy_(policy), declares_(declares) {}

    std::vector<NeededPermission> found;

    void add_base() {
        add("read", policy_.error_queue);
        add("write", default_exchange);
    }
    void add(const Wanted& wanted) {
        std::visit([this](const auto& item) { add_for(item); }, wanted.item);
        if (wanted.role == Wanted::Role::rung_exchange) add("write", name_of(wanted.item));
    }

  private:
    void add_for(const ExchangeSpec& exchange) {
        if (!declares_) return;
        add("configure", exchange.name);
        // To name an alternate exchange takes what it takes to publish there.
        for (const auto& [key, value] : exchange.arguments) {
            if (key != "alternate-exchange") continue;
            add("read", exchange.name);
            add("write", std::get<std::string>(value));
        }
    }
    void add_for(const QueueSpec& queue) {
        if (!declares_) return;
        add("configure", queue.name);
        for (const auto& [key, value] : queue.arguments) {
            if (key != "x-dead-letter-exchange") continue;
            const auto& exchange = std::get<std::string>(value);
            add("read", queue.name);
            add("write", exchange.empty() ? default_exchange : exchange);
        }
    }
    void add_for(const BindingSpec& binding) {
        add("write", binding.queue);
        add("read", binding.exchange);
    }
    void add_for(const ForeignExchange& exchange) { add("write", exchange.name); }

    void add(std::string_view operation, const std::string& name) {
        const NeededPermission needed{operation, name};
        if (std::find(found.begin(), found.end(), needed) == found.end()) found.push_back(needed);
    }

    const Policy& policy_;
    bool declares_;
};

bool permits(const std::string& pattern, const std::string& name) {
    if (pattern.empty()) return name.empty();  // RabbitMQ takes it for ^$
    try {
        return std::regex_search(name, std::regex(pattern));
    } catch (const std::regex_error&) {
        return true;
    }
}

}  // namespace

std::vector<NeededPermission> needed_permissions(const Policy& policy, const std::vector<Wanted>& wanted,
                                                 bool declares) {
    Needed needed(policy, declares);
    needed.add_base();
    for (const Wanted& each : wanted)
        needed.add(each);
    return std::move(needed.found);
}

std::vector<NeededPermission> lacking(const std::vector<NeededPermission>& needed, const Permissions& given) {
    std::vector<NeededPermission> found;
    std::copy_if(needed.begin(), needed.end(), std::back_inserter(found), [&](const NeededPermission& each) {
        const std::string& pattern = each.operation == "configure" ? given.configure
                                     : each.operation == "write"   ? given.write
                                                                   : given.read;
        return !permits(pattern, each.name);
    });
    return found;
}

}  // namespace retryd::core
