#include "amqp/declarer.h"

#include <algorithm>
#include <utility>

#include "amqp/refusal.h"
#include "core/reply_code.h"

namespace retryd::amqp {
namespace {

using Result = Declarer::Result;
using Outcome = Declarer::Outcome;

bool is_optional(const core::QueueSpec& queue, std::string_view argument) {
    return std::find(queue.optional_arguments.begin(), queue.optional_arguments.end(), argument) !=
           queue.optional_arguments.end();
}

core::QueueSpec without_optional(const core::QueueSpec& queue) {
    core::QueueSpec reduced = queue;
    std::erase_if(reduced.arguments, [&](const auto& argument) { return is_optional(queue, argument.first); });
    return reduced;
}

core::QueueSpec with_older(const core::QueueSpec& queue) {
    core::QueueSpec older = queue;
    for (auto& [name, value] : older.arguments) {
        if (name == queue.older->argument) value = queue.older->value;
    }
    return older;
}

/// Whether the queue that is there has the argument as an earlier retryd declared it.
bool is_older(const core::QueueSpec& queue, std::string_view refusal) {
    const auto difference = parse_inequivalent(refusal);
    return queue.older && difference && difference->argument == queue.older->argument &&
           difference->current == std::to_string(queue.older->value);
}

/// The refusal that counts: the last one, unless it is about an argument that was left out after the first.
std::string decisive_refusal(const core::QueueSpec& queue, const std::string& first, std::string_view last) {
    const auto difference = parse_inequivalent(last);
    if (!first.empty() && difference && is_optional(queue, difference->argument)) return first;
    return std::string{last};
}

/// One step, as a command.
struct Ask {
    TopologyCommands& commands;
    Channel channel;
    Declarer::Variant variant;

    void operator()(const core::ExchangeSpec& exchange) const { commands.declare_exchange(channel, exchange); }
    void operator()(const core::QueueSpec& queue) const {
        if (variant == Declarer::Variant::wanted) return commands.declare_queue(channel, queue);
        commands.declare_queue(channel,
                               variant == Declarer::Variant::older ? with_older(queue) : without_optional(queue));
    }
    void operator()(const core::BindingSpec& binding) const { commands.bind(channel, binding); }
    void operator()(const core::ForeignExchange& exchange) const { commands.check_exchange(channel, exchange.name); }
    void operator()(const Declarer::CheckQueue& check) const { commands.check_queue(channel, check.queue); }
    void operator()(const Declarer::CheckExchange& check) const { commands.check_exchange(channel, check.exchange); }
    void operator()(const Declarer::DeleteQueue& step) const {
        commands.delete_queue(channel, step.queue, step.only_if_idle);
    }
    void operator()(const Declarer::DeleteExchange& step) const { commands.delete_exchange(channel, step.exchange); }
};

/// What it means that the broker closed the channel over a step.
struct Explain {
    int code;
    std::string_view text;
    const std::string& first_refusal;

    Outcome operator()(const core::ExchangeSpec& exchange) const {
        return refused(explain_exchange_refusal(exchange, code, text));
    }
    Outcome operator()(const core::QueueSpec& queue) const {
        const std::string words = decisive_refusal(queue, first_refusal, text);
        Outcome outcome = refused(explain_queue_refusal(queue, code, words));
        outcome.difference = parse_inequivalent(words);
        return outcome;
    }
    Outcome operator()(const core::BindingSpec& binding) const {
        if (says_no_queue()) return no_queue(binding.queue);
        return refused(explain_binding_refusal(binding, code, text));
    }
    Outcome operator()(const core::ForeignExchange& exchange) const {
        return refused(explain_foreign_refusal(exchange, code, text));
    }
    Outcome operator()(const Declarer::CheckQueue& check) const {
        if (says_no_queue()) return no_queue(check.queue);
        return refused(explain_check_refusal("queue", check.queue, code, text));
    }
    Outcome operator()(const Declarer::CheckExchange& check) const {
        if (code == core::reply_code::not_found) return missing("exchange '" + check.exchange + "' does not exist");
        return refused(explain_check_refusal("exchange", check.exchange, code, text));
    }
    Outcome operator()(const Declarer::DeleteQueue& step) const {
        return refused(explain_delete_refusal("queue", step.queue, code, text));
    }
    Outcome operator()(const Declarer::DeleteExchange& step) const {
        return refused(explain_delete_refusal("exchange", step.exchange, code, text));
    }

  private:
    /// 404 also stands for a queue that is there and cannot be reached: "home node '…' of durable queue '…' is down".
    bool says_no_queue() const {
        return code == core::reply_code::not_found && text.find("no queue '") != std::string_view::npos;
    }
    Outcome refused(std::string line) const { return {Result::refused, code, std::move(line), {}}; }
    Outcome missing(std::string line) const { return {Result::missing, code, std::move(line), {}}; }
    Outcome no_queue(const std::string& queue) const { return missing("queue '" + queue + "' does not exist"); }
};

}  // namespace

Declarer::Step step_of(const core::TopologyItem& item) {
    return std::visit([](const auto& alternative) { return Declarer::Step{alternative}; }, item);
}

void Declarer::submit(Step step, Sink sink) {
    waiting_.push_back({std::move(step), std::move(sink), Variant::wanted, {}});
    advance();
}

void Declarer::on_channel_open(Channel channel) {
    if (channel != channel_) return;
    state_ = State::ready;
    advance();
}

void Declarer::on_declared(Channel channel, const QueueCounts& counts) {
    if (channel != channel_ || state_ != State::asked) return;
    state_ = State::ready;
    Outcome outcome;
    outcome.counts = counts;
    const Waiting& asked = waiting_.front();
    outcome.variant = asked.variant;
    if (asked.variant == Variant::without_optional) {
        outcome.text = explain_lack(std::get<core::QueueSpec>(asked.step), asked.first_refusal);
    } else if (asked.variant == Variant::older) {
        outcome.text = explain_older(std::get<core::QueueSpec>(asked.step), asked.first_refusal);
    }
    finish(outcome);
}

void Declarer::on_channel_closed(const ChannelClosed& closed) {
    if (closed.channel != channel_) return;
    const bool asked = state_ == State::asked;
    state_ = State::closed;
    if (!asked || try_another_variant(closed.code, closed.text)) return advance();
    const Waiting& front = waiting_.front();
    finish(std::visit(Explain{closed.code, closed.text, front.first_refusal}, front.step));
}

void Declarer::advance() {
    if (waiting_.empty()) return;
    if (state_ == State::closed) {
        state_ = State::opening;
        commands_.open_channel(channel_);
    } else if (state_ == State::ready) {
        state_ = State::asked;
        const Waiting& next = waiting_.front();
        std::visit(Ask{commands_, channel_, next.variant}, next.step);
    }
}

bool Declarer::try_another_variant(int code, std::string_view text) {
    Waiting& asked = waiting_.front();
    const auto* queue = std::get_if<core::QueueSpec>(&asked.step);
    if (queue == nullptr || queue->optional_arguments.empty() || code != core::reply_code::precondition_failed)
        return false;
    if (asked.variant != Variant::wanted) return false;
    asked.variant = is_older(*queue, text) ? Variant::older : Variant::without_optional;
    asked.first_refusal = text;
    return true;
}

void Declarer::finish(const Outcome& outcome) {
    const Sink sink = std::move(waiting_.front().sink);
    waiting_.pop_front();
    sink(outcome);
    advance();
}

}  // namespace retryd::amqp
