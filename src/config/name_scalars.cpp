#include "config/name_scalars.h"

#include <string_view>
#include <utility>
#include <variant>

#include "config/addresses.h"
#include "core/names.h"

namespace retryd::config {

namespace {

/// What RabbitMQ refuses or changes in any name.
Complaint complaint_about_any_name(std::string_view name) {
    if (name.empty()) return "is empty";
    if (name.size() > core::longest_queue_name) return "is " + std::to_string(name.size()) + " bytes long";
    if (!core::usable_queue_name(name)) return "has a line break in it";
    return std::nullopt;
}

/// What RabbitMQ refuses to declare.
Complaint complaint_about_declared_name(std::string_view name) {
    if (auto complaint = complaint_about_any_name(name)) return complaint;
    if (name.starts_with("amq.")) return "begins with amq., which RabbitMQ keeps for itself";
    return std::nullopt;
}

Complaint complaint_about_shared_rung(std::string_view name) {
    if (!core::looks_like_shared_rung(name)) return std::nullopt;
    return "has the form of a shared rung's name, retryd.{ladder}.{delay}";
}

/// A queue that looks like a rung would be taken for one.
Complaint complaint_about_queue(std::string_view name) {
    if (auto complaint = complaint_about_declared_name(name)) return complaint;
    if (core::looks_like_rung(name)) return "has the form of a rung's name, {queue}.retry.{delay}";
    return complaint_about_shared_rung(name);
}

/// What is published to the exchanges of a shared ladder is on its way back to a work queue.
Complaint complaint_about_shared_exchange(std::string_view name) {
    if (name == core::return_exchange_name) return "is the exchange through which messages return to their work queues";
    return complaint_about_shared_rung(name);
}

Complaint complaint_about_error_exchange(std::string_view name) {
    if (auto complaint = complaint_about_declared_name(name)) return complaint;
    return complaint_about_shared_exchange(name);
}

/// retryd does not declare it, so it may be one of RabbitMQ's own, such as amq.topic.
Complaint complaint_about_foreign_exchange(std::string_view name) {
    if (auto complaint = complaint_about_any_name(name)) return complaint;
    return complaint_about_shared_exchange(name);
}

Complaint complaint_about_fixed_queue(std::string_view name) {
    if (name.find(core::queue_placeholder) != std::string_view::npos)
        return "holds {queue}, which stands for nothing here";
    return complaint_about_queue(name);
}

/// A queue of somebody else's: anything that can be one, but no glob.
Complaint complaint_about_one_queue(std::string_view name) {
    if (core::is_glob(name)) return "is a glob";
    return complaint_about_queue(name);
}

Complaint complaint_about_placeholder(std::string_view name) {
    std::string fixed{name};
    if (const std::size_t at = fixed.find(core::queue_placeholder); at != std::string::npos)
        fixed.erase(at, core::queue_placeholder.size());
    if (fixed.find_first_of("{}") != std::string::npos) return "has braces besides one {queue}";
    if (fixed.size() == name.size()) return std::nullopt;
    // The longest work queue is cut to make room; the rest of the template cannot be.
    const std::string longest = core::expand_queue(name, std::string(core::longest_queue_name, 'q'));
    if (longest.size() > core::longest_queue_name) return "leaves no room for the work queue's name";
    return std::nullopt;
}

Complaint complaint_about_queue_template(std::string_view name) {
    if (name == core::queue_placeholder) return "is the work queue itself";
    if (auto complaint = complaint_about_placeholder(name)) return complaint;
    return complaint_about_queue(name);
}

Complaint complaint_about_routing_key(std::string_view key) {
    if (key.size() > core::longest_queue_name) return "is " + std::to_string(key.size()) + " bytes long";
    return std::nullopt;
}

Complaint complaint_about_key_template(std::string_view key) {
    if (auto complaint = complaint_about_routing_key(key)) return complaint;
    return complaint_about_placeholder(key);
}

using Check = Complaint (*)(std::string_view);

Scalar checked_text(Given<std::string>& target, std::string expected, Check check) {
    Scalar scalar;
    scalar.expected = std::move(expected);
    scalar.default_value = target.value;
    scalar.pattern = detail::not_empty;
    scalar.set = [&target, check](const std::string& text, const Place& place) -> Complaint {
        if (auto complaint = check(text)) return complaint;
        target = {text, place, true};
        return std::nullopt;
    };
    return scalar;
}

/// Unlike a name, a routing key may be empty; without a default, a missing value is the same as no key.
Scalar checked_routing_key(Given<std::string>& target, std::string expected, Check check) {
    Scalar scalar = checked_text(target, std::move(expected), check);
    scalar.pattern.clear();
    scalar.may_be_null = target.value.empty();
    return scalar;
}

}  // namespace

Scalar exchange_name(Given<std::string>& target) {
    return checked_text(target, "the name of an exchange, 1 to 255 bytes", complaint_about_error_exchange);
}

Scalar foreign_exchange(Given<std::string>& target) {
    return checked_text(target, "the name of an exchange that is there already, 1 to 255 bytes",
                        complaint_about_foreign_exchange);
}

Scalar queue_name(Given<std::string>& target) {
    return checked_text(target, "the name of a queue, 1 to 255 bytes", complaint_about_fixed_queue);
}

Scalar queue_template(Given<std::string>& target) {
    return checked_text(target, "the name of a queue, in which {queue} stands for the work queue",
                        complaint_about_queue_template);
}

Scalar queue_pattern(Given<std::string>& target) {
    return checked_text(target, "the name of a work queue, or a glob such as webhook.*", complaint_about_queue);
}

Scalar work_queue_name(Given<std::string>& target) {
    return checked_text(target, "the name of a work queue, 1 to 255 bytes", complaint_about_one_queue);
}

Scalar source_queue(Given<std::string>& target) {
    return checked_text(target, "the name of a queue that is there already, or a glob such as *_error",
                        complaint_about_queue);
}

Scalar routing_key(Given<std::string>& target) {
    return checked_routing_key(target, "a routing key, at most 255 bytes", complaint_about_routing_key);
}

Scalar routing_key_template(Given<std::string>& target) {
    return checked_routing_key(target, "a routing key, in which {queue} stands for the work queue",
                               complaint_about_key_template);
}

bool is_ladder_name(std::string_view text) {
    constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    return !text.empty() && text.size() <= 64 && text.find_first_not_of(allowed) == std::string_view::npos;
}

Scalar management_url(Given<std::string>& target) {
    // Secret, because whoever puts user and password into it shall not find them in a log.
    Scalar scalar = secret(checked_text(target, "http://HOST:PORT or https://HOST:PORT", [](std::string_view url) {
        return url.empty() ? "is empty" : complaint_about_management_url(url);
    }));
    scalar.set = [set = scalar.set](const std::string& text, const Place& place) {
        return set(text.substr(0, text.find_last_not_of('/') + 1), place);
    };
    return scalar;
}

Scalar listen_address(std::optional<Http>& target) {
    Scalar scalar;
    scalar.expected = "HOST:PORT, such as 127.0.0.1:9467 or [::1]:9467";
    scalar.pattern = "[^:]:[0-9]|\\$\\{";
    scalar.set = [&target](const std::string& text, const Place&) -> Complaint {
        auto parsed = parse_listen_address(text);
        if (auto* complaint = std::get_if<std::string>(&parsed)) return text.empty() ? "is empty" : *complaint;
        target = std::get<Http>(std::move(parsed));
        return std::nullopt;
    };
    return scalar;
}

}  // namespace retryd::config
