// The names of queues and exchanges in the file: what RabbitMQ takes, and what retryd could not work with.
#include "core/names.h"

#include <string_view>
#include <utility>

#include "config/scalars.h"

namespace retryd::config {
namespace {

using Complaint = std::optional<std::string>;

constexpr std::string_view placeholder = "{queue}";

/// What RabbitMQ would refuse or change.
Complaint complaint_about(std::string_view name) {
    if (name.empty()) return "is empty";
    if (name.size() > core::longest_queue_name) return "is " + std::to_string(name.size()) + " bytes long";
    if (!core::usable_queue_name(name)) return "has a line break in it";
    if (name.starts_with("amq.")) return "begins with amq., which RabbitMQ keeps for itself";
    return std::nullopt;
}

/// A queue that looks like a rung would be taken for one.
Complaint complaint_about_queue(std::string_view name) {
    if (auto complaint = complaint_about(name)) return complaint;
    if (core::looks_like_rung(name)) return "has the form of a rung's name, {queue}.retry.{delay}";
    return std::nullopt;
}

Complaint complaint_about_fixed_queue(std::string_view name) {
    if (name.find(placeholder) != std::string_view::npos) return "holds {queue}, which stands for nothing here";
    return complaint_about_queue(name);
}

Complaint complaint_about_template(std::string_view name) {
    std::string fixed{name};
    if (const std::size_t at = fixed.find(placeholder); at != std::string::npos) {
        fixed.erase(at, placeholder.size());
        if (fixed.empty()) return "is the work queue itself";
    }
    if (fixed.find_first_of("{}") != std::string::npos) return "has braces besides one {queue}";
    // The longest work queue is cut to make room; the rest of the template cannot be.
    const std::string longest = core::expand_queue(name, std::string(core::longest_queue_name, 'q'));
    if (longest.size() > core::longest_queue_name) return "leaves no room for the work queue's name";
    return complaint_about_queue(name);
}

using Check = Complaint (*)(std::string_view);

Scalar checked_name(Given<std::string>& target, std::string expected, Check check) {
    Scalar scalar;
    scalar.expected = std::move(expected);
    scalar.fallback = target.value;
    scalar.take = [&target, check](const std::string& text, const Place& place) -> Complaint {
        if (auto complaint = check(text)) return complaint;
        target = {text, place, true};
        return std::nullopt;
    };
    return scalar;
}

}  // namespace

Scalar exchange_name(Given<std::string>& target) {
    return checked_name(target, "the name of an exchange, 1 to 255 bytes", complaint_about);
}

Scalar queue_name(Given<std::string>& target) {
    return checked_name(target, "the name of a queue, 1 to 255 bytes", complaint_about_fixed_queue);
}

Scalar queue_template(Given<std::string>& target) {
    return checked_name(target, "the name of a queue, in which {queue} stands for the work queue",
                        complaint_about_template);
}

Scalar queue_pattern(Given<std::string>& target) {
    return checked_name(target, "the name of a work queue, or a glob such as webhook.*", complaint_about_queue);
}

}  // namespace retryd::config
