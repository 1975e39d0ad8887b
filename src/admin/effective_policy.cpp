#include "admin/effective_policy.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace retryd::admin {

namespace {

const BrokerPolicy* named(const std::vector<BrokerPolicy>& policies, std::string_view name) {
    const auto found =
        std::find_if(policies.begin(), policies.end(), [&](const BrokerPolicy& policy) { return policy.name == name; });
    return name.empty() || found == policies.end() ? nullptr : &*found;
}

const std::string* value_in(const BrokerPolicy* policy, const std::string& key) {
    if (policy == nullptr) return nullptr;
    const auto found = policy->definition.find(key);
    return found == policy->definition.end() ? nullptr : &found->second;
}

}  // namespace

std::optional<std::string> argument(const QueuePolicies& queue, const std::string& key) {
    for (const auto& [name, value] : queue.arguments) {
        if (name != "x-" + key) continue;
        if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
        const auto* number = std::get_if<std::int64_t>(&value);
        return number != nullptr ? std::to_string(*number) : core::json_string(std::get<std::string>(value));
    }
    return std::nullopt;
}

const BrokerPolicy* EffectivePolicy::policy(std::string_view name) const {
    return named(vhost_policies_.policies, name);
}

const BrokerPolicy* EffectivePolicy::operator_policy(std::string_view name) const {
    return named(vhost_policies_.operator_policies, name);
}

Setting EffectivePolicy::quorum_overflow(const QueuePolicies& queue) const {
    Setting by_policy = in_policies(queue, "overflow");
    if (by_policy.source != Source::none) return by_policy;
    const auto by_argument = argument(queue, "overflow");
    return by_argument ? Setting{Source::argument, *by_argument} : Setting{};
}

bool EffectivePolicy::is_limited(const QueuePolicies& queue) const {
    constexpr std::array keys{"max-length", "max-length-bytes"};
    return std::any_of(keys.begin(), keys.end(), [&](const char* key) {
        return argument(queue, key) || in_policies(queue, key).source != Source::none;
    });
}

Setting EffectivePolicy::or_policy(const QueuePolicies& queue, const std::string& key) const {
    const auto by_argument = argument(queue, key);
    return by_argument ? Setting{Source::argument, *by_argument} : in_policies(queue, key);
}

Setting EffectivePolicy::in_policies(const QueuePolicies& queue, const std::string& key) const {
    if (const auto* value = value_in(operator_policy(queue.operator_policy), key)) {
        return {Source::operator_policy, *value};
    }
    if (const auto* value = value_in(policy(queue.policy), key)) return {Source::policy, *value};
    return {};
}

std::optional<std::string> text_of(const std::string& json) {
    if (json.size() < 2) return std::nullopt;
    std::string text = json.substr(1, json.size() - 2);
    if (core::json_string(text) != json) return std::nullopt;
    return text;
}

std::optional<std::int64_t> number_of(const std::string& json) {
    std::int64_t number = 0;
    const char* const end = json.data() + json.size();
    const auto [rest, error] = std::from_chars(json.data(), end, number);
    return error == std::errc{} && rest == end ? std::optional{number} : std::nullopt;
}

bool is_high_limit(const std::string& limit) {
    return number_of(limit).value_or(0) >= core::high_delivery_limit;
}

}  // namespace retryd::admin
