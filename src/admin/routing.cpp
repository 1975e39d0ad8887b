#include "admin/routing.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

namespace retryd::admin {

namespace {

using Words = std::vector<std::string_view>;

Words words_of(std::string_view key) {
    Words words;
    if (key.empty()) return words;
    for (;;) {
        const std::size_t dot = key.find('.');
        words.push_back(key.substr(0, dot));
        if (dot == std::string_view::npos) return words;
        key.remove_prefix(dot + 1);
    }
}

/// `*` is one word, `#` any number of words. A wildcard in a pattern is covered by one that is at least as wide.
bool covers(const Words& binding, const Words& key, bool pattern) {
    // matched[k]: whether the part of the binding read so far covers the first k words.
    std::vector<bool> matched(key.size() + 1, false);
    matched[0] = true;
    for (const std::string_view word : binding) {
        std::vector<bool> next(key.size() + 1, false);
        next[0] = word == "#" && matched[0];
        for (std::size_t k = 1; k <= key.size(); ++k) {
            const bool one = word == "*" ? !pattern || key[k - 1] != "#" : word == key[k - 1];
            next[k] = word == "#" ? matched[k] || next[k - 1] : one && matched[k - 1];
        }
        matched = std::move(next);
    }
    return matched[key.size()];
}

/// Whether there may be a key that both match: false only if the words before the first `#` differ.
bool may_overlap(const Words& left, const Words& right) {
    for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
        if (left[i] == "#" || right[i] == "#") return true;
        if (left[i] != "*" && right[i] != "*" && left[i] != right[i]) return false;
    }
    const Words& longer = left.size() > right.size() ? left : right;
    const std::size_t common = std::min(left.size(), right.size());
    return longer.size() == common || longer[common] == "#";
}

enum class Takes { yes, no, perhaps };

Takes takes_by_topic(const std::string& binding_key, const RoutingKey& key) {
    if (topic_covers(binding_key, key)) return Takes::yes;
    return key.pattern && may_overlap(words_of(binding_key), words_of(key.text)) ? Takes::perhaps : Takes::no;
}

Takes takes_by_name(const std::string& binding_key, const RoutingKey& key) {
    if (!key.pattern) return binding_key == key.text ? Takes::yes : Takes::no;
    // It is bound as if it were a topic exchange; no message has the key `#`.
    if (binding_key == "#") return Takes::no;
    return topic_covers(key.text, {binding_key}) ? Takes::perhaps : Takes::no;
}

Takes takes(const std::string& type, const BrokerBinding& binding, const RoutingKey& key) {
    if (type == "fanout") return Takes::yes;
    if (type == "topic") return takes_by_topic(binding.routing_key, key);
    if (type == "direct") return takes_by_name(binding.routing_key, key);
    // A headers exchange routes every message to a binding without arguments.
    return type == "headers" && !binding.has_arguments ? Takes::yes : Takes::perhaps;
}

}  // namespace

bool topic_covers(std::string_view binding_key, const RoutingKey& key) {
    return covers(words_of(binding_key), words_of(key.text), key.pattern);
}

RoutingGraph::RoutingGraph(const Routing& routing) : routing_(routing) {
    for (const BrokerBinding& binding : routing.bindings) {
        from_[binding.source].push_back(&binding);
        if (!binding.to_exchange) to_queue_[binding.destination].push_back(&binding);
    }
}

std::string RoutingGraph::type_of(const std::string& exchange) const {
    const auto found = routing_.exchanges.find(exchange);
    return found == routing_.exchanges.end() ? "" : found->second.type;
}

const std::vector<const BrokerBinding*>& RoutingGraph::bindings_to(const std::string& queue) const {
    static const std::vector<const BrokerBinding*> none;
    const auto found = to_queue_.find(queue);
    return found == to_queue_.end() ? none : found->second;
}

Reached RoutingGraph::reached(const std::string& exchange, const RoutingKey& key) const {
    Reached found;
    std::set<std::string> seen;
    follow(exchange, key, seen, found);
    return found;
}

void RoutingGraph::follow(const std::string& exchange, const RoutingKey& key, std::set<std::string>& seen,
                          Reached& found) const {
    if (exchange.empty()) {
        if (key.pattern) {
            found.doubtful = true;
        } else {
            found.queues.insert(key.text);
        }
        return;
    }
    if (!seen.insert(exchange).second) return;
    const auto known = routing_.exchanges.find(exchange);
    if (known == routing_.exchanges.end()) {
        found.doubtful = true;
        return;
    }
    bool taken = false;
    const auto bindings = from_.find(exchange);
    if (bindings != from_.end()) {
        for (const BrokerBinding* binding : bindings->second) {
            const Takes answer = takes(known->second.type, *binding, key);
            if (answer == Takes::perhaps) found.doubtful = true;
            if (answer != Takes::yes) continue;
            taken = true;
            if (binding->to_exchange) {
                follow(binding->destination, key, seen, found);
            } else {
                found.queues.insert(binding->destination);
            }
        }
    }
    if (!taken && !known->second.alternate.empty()) follow(known->second.alternate, key, seen, found);
}

namespace {

/// Invalid escapes stay as they are.
std::string percent_decoded(std::string_view text) {
    constexpr std::size_t escape = 3;
    constexpr int hexadecimal = 16;
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned char byte = 0;
        const char* const digits = text.data() + i + 1;
        const bool escaped = text[i] == '%' && i + escape <= text.size() &&
                             std::from_chars(digits, digits + 2, byte, hexadecimal).ptr == digits + 2;
        decoded += escaped ? static_cast<char>(byte) : text[i];
        if (escaped) i += escape - 1;
    }
    return decoded;
}

}  // namespace

std::set<std::string> queues_behind(std::string_view target, const RoutingGraph& graph) {
    constexpr std::string_view to_queue = "/queues/";
    constexpr std::string_view to_exchange = "/exchanges/";
    if (target.starts_with(to_queue)) return {percent_decoded(target.substr(to_queue.size()))};
    if (!target.starts_with(to_exchange)) return {};
    const std::string_view rest = target.substr(to_exchange.size());
    const std::size_t slash = rest.find('/');
    const std::string exchange = percent_decoded(rest.substr(0, slash));
    if (slash == std::string_view::npos) return graph.reached(exchange, {"#", true}).queues;
    return graph.reached(exchange, {percent_decoded(rest.substr(slash + 1))}).queues;
}

}  // namespace retryd::admin
