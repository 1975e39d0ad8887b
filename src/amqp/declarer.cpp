#include "amqp/declarer.h"

#include <algorithm>
#include <utility>

#include "amqp/refusal.h"

namespace retryd::amqp {
namespace {

constexpr int not_found = 404;
constexpr int precondition_failed = 406;

bool is_optional(const core::QueueSpec& queue, std::string_view argument) {
    return std::find(queue.optional_arguments.begin(), queue.optional_arguments.end(), argument) !=
           queue.optional_arguments.end();
}

core::QueueSpec without_optional(const core::QueueSpec& queue) {
    core::QueueSpec reduced = queue;
    std::erase_if(reduced.arguments, [&](const auto& argument) { return is_optional(queue, argument.first); });
    return reduced;
}

/// The refusal that counts: the last one, unless it is about an argument that was left out after the first.
std::string decisive_refusal(const core::QueueSpec& queue, const std::string& first, std::string_view last) {
    const auto difference = parse_inequivalent(last);
    if (!first.empty() && difference && is_optional(queue, difference->argument)) return first;
    return std::string{last};
}

}  // namespace

void Declarer::submit(Step step, Sink sink) {
    waiting_.push_back({std::move(step), std::move(sink), {}});
    advance();
}

void Declarer::on_channel_open(Channel channel) {
    if (channel != channel_) return;
    state_ = State::ready;
    advance();
}

void Declarer::on_declared(Channel channel) {
    if (channel != channel_ || state_ != State::asked) return;
    state_ = State::ready;
    Outcome outcome;
    const Waiting& asked = waiting_.front();
    if (!asked.first_refusal.empty()) {
        outcome.text = explain_lack(std::get<DeclareQueue>(asked.step).queue, asked.first_refusal);
    }
    finish(outcome);
}

void Declarer::on_channel_closed(const ChannelClosed& closed) {
    if (closed.channel != channel_) return;
    const bool asked = state_ == State::asked;
    state_ = State::closed;
    if (!asked || try_without_optional(closed.code, closed.text)) return advance();
    finish(refusal(closed.code, closed.text));
}

void Declarer::advance() {
    if (waiting_.empty()) return;
    if (state_ == State::closed) {
        state_ = State::opening;
        commands_.open_channel(channel_);
    } else if (state_ == State::ready) {
        state_ = State::asked;
        ask(waiting_.front().step);
    }
}

void Declarer::ask(const Step& step) {
    if (const auto* exchange = std::get_if<DeclareExchange>(&step)) {
        commands_.declare_fanout(channel_, exchange->exchange);
    } else if (const auto* queue = std::get_if<DeclareQueue>(&step)) {
        const bool whole = waiting_.front().first_refusal.empty();
        commands_.declare_queue(channel_, whole ? queue->queue : without_optional(queue->queue));
    } else if (const auto* binding = std::get_if<Bind>(&step)) {
        commands_.bind(channel_, binding->queue, binding->exchange);
    } else {
        commands_.check_queue(channel_, std::get<CheckQueue>(step).queue);
    }
}

bool Declarer::try_without_optional(int code, std::string_view text) {
    Waiting& asked = waiting_.front();
    const auto* step = std::get_if<DeclareQueue>(&asked.step);
    if (step == nullptr || step->queue.optional_arguments.empty() || code != precondition_failed) return false;
    if (!asked.first_refusal.empty()) return false;
    asked.first_refusal = text;
    return true;
}

Declarer::Outcome Declarer::refusal(int code, std::string_view text) const {
    const Waiting& asked = waiting_.front();
    if (const auto* exchange = std::get_if<DeclareExchange>(&asked.step)) {
        return {Result::refused, code, explain_exchange_refusal(exchange->exchange, code, text)};
    }
    if (const auto* step = std::get_if<DeclareQueue>(&asked.step)) {
        const std::string decisive = decisive_refusal(step->queue, asked.first_refusal, text);
        return {Result::refused, code, explain_queue_refusal(step->queue, code, decisive)};
    }
    if (const auto* binding = std::get_if<Bind>(&asked.step)) {
        return {Result::refused, code, explain_binding_refusal(binding->queue, binding->exchange, code, text)};
    }
    const std::string& queue = std::get<CheckQueue>(asked.step).queue;
    if (code == not_found) return {Result::missing, code, "queue '" + queue + "' does not exist"};
    return {Result::refused, code, explain_check_refusal(queue, code, text)};
}

void Declarer::finish(const Outcome& outcome) {
    const Sink sink = std::move(waiting_.front().sink);
    waiting_.pop_front();
    sink(outcome);
    advance();
}

}  // namespace retryd::amqp
