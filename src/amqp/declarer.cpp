#include "amqp/declarer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "amqp/refusal.h"
#include "amqp/timeouts.h"
#include "core/reply_code.h"
#include "core/safe_text.h"

namespace retryd::amqp {

/// What the queue has instead is in the refusal; where that was cut, one value after the other is tried.
bool QueueVariant::adapt(int code, std::string_view refusal) {
    const auto difference = parse_inequivalent(refusal);
    if (code != core::reply_code::precondition_failed || !difference) return false;
    const std::string& argument = difference->argument;
    const auto& optional = wanted_.optional_arguments;
    if (std::find(optional.begin(), optional.end(), argument) == optional.end()) return false;
    auto given = std::find_if(given_up_.begin(), given_up_.end(),
                              [&](const GivenUp& each) { return each.argument == argument; });
    const bool again = given != given_up_.end();
    const bool cut = difference->name.empty();
    if (again && (given->left_out || !cut)) return false;
    if (!again) given = given_up_.insert(given, {argument, std::string{refusal}});
    if (const auto* const older = next_older(*given, refusal)) {
        for (auto& [name, value] : spec_.arguments) {
            if (name == argument) value = older->value;
        }
        given->note = older->harmful ? explain_older(wanted_, *older, refusal) : Explanation{};
    } else {
        std::erase_if(spec_.arguments, [&](const auto& present) { return present.first == argument; });
        given->left_out = true;
        lacking_.push_back(argument);
        given->note = explain_lack(wanted_, argument, refusal);
    }
    return true;
}

Explanation QueueVariant::note() const {
    Explanation all;
    for (const GivenUp& given : given_up_) {
        if (given.note.empty()) continue;
        all = all.empty() ? given.note : Explanation{all.line() + "; " + given.note.cause, given.note.remedy};
    }
    return all;
}

std::string QueueVariant::decisive(std::string_view last) const {
    const auto difference = parse_inequivalent(last);
    const GivenUp* const before = difference ? given_up(difference->argument) : nullptr;
    return before != nullptr ? before->refusal : std::string{last};
}

/// The value that an earlier retryd declared: the one that the queue has, or, where it is not known which that is, the
/// next one. Null where there is none.
const core::QueueSpec::Older* QueueVariant::next_older(GivenUp& given, std::string_view refusal) const {
    const auto difference = parse_inequivalent(refusal);
    const bool known = !difference->name.empty();
    while (given.tried < wanted_.older.size()) {
        const core::QueueSpec::Older& older = wanted_.older[given.tried++];
        if (older.argument != given.argument) continue;
        if (!known || difference->current == std::to_string(older.value)) return &older;
    }
    return nullptr;
}

const QueueVariant::GivenUp* QueueVariant::given_up(std::string_view argument) const {
    const auto found = std::find_if(given_up_.begin(), given_up_.end(),
                                    [&](const GivenUp& each) { return each.argument == argument; });
    return found == given_up_.end() ? nullptr : &*found;
}

namespace {

using Result = Declarer::Result;
using Outcome = Declarer::Outcome;

/// One step, as a command.
struct Ask {
    TopologyCommands& commands;
    Channel channel;
    const std::optional<QueueVariant>& variant;

    void operator()(const core::ExchangeSpec& exchange) const { commands.declare_exchange(channel, exchange); }
    void operator()(const core::QueueSpec& queue) const {
        commands.declare_queue(channel, variant ? variant->spec() : queue);
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
    const std::optional<QueueVariant>& variant;

    Outcome operator()(const core::ExchangeSpec& exchange) const {
        return refused(explain_exchange_refusal(exchange, code, text));
    }
    Outcome operator()(const core::QueueSpec& queue) const {
        const std::string words = variant ? variant->decisive(text) : std::string{text};
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
        if (code == core::reply_code::not_found)
            return missing("exchange " + core::quoted(check.exchange) + " does not exist");
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
        return code == core::reply_code::not_found && text.starts_with("NOT_FOUND - no queue '");
    }
    Outcome refused(std::string line) const { return {Result::refused, code, std::move(line), {}}; }
    Outcome refused(Explanation told) const {
        Outcome outcome = refused(told.line());
        outcome.told = std::move(told);
        return outcome;
    }
    Outcome missing(std::string line) const { return {Result::missing, code, std::move(line), {}}; }
    Outcome no_queue(const std::string& queue) const {
        return missing("queue " + core::quoted(queue) + " does not exist");
    }
};

/// What it means that the broker has not answered a step.
struct ExplainSilence {
    std::string operator()(const core::ExchangeSpec& exchange) const {
        return about("declare exchange", exchange.name);
    }
    std::string operator()(const core::QueueSpec& queue) const { return of_queue("declare queue", queue.name); }
    std::string operator()(const core::BindingSpec& binding) const {
        return explain_no_answer(
            "bind queue " + core::quoted(binding.queue) + " to exchange " + core::quoted(binding.exchange), "");
    }
    std::string operator()(const core::ForeignExchange& exchange) const {
        return about("look for exchange", exchange.name);
    }
    std::string operator()(const Declarer::CheckQueue& check) const { return of_queue("look for queue", check.queue); }
    std::string operator()(const Declarer::CheckExchange& check) const {
        return about("look for exchange", check.exchange);
    }
    std::string operator()(const Declarer::DeleteQueue& step) const { return of_queue("delete queue", step.queue); }
    std::string operator()(const Declarer::DeleteExchange& step) const {
        return about("delete exchange", step.exchange);
    }

  private:
    static std::string about(const std::string& verb, const std::string& name) {
        return explain_no_answer(verb + ' ' + core::quoted(name), "");
    }
    static std::string of_queue(const std::string& verb, const std::string& name) {
        return explain_no_answer(verb + ' ' + core::quoted(name), name);
    }
};

/// As the broker could say it, had it room for it.
struct WordsFor {
    std::string operator()(const Declarer::CheckQueue& check) const { return no_queue(check.queue); }
    std::string operator()(const core::BindingSpec& binding) const { return no_queue(binding.queue); }
    std::string operator()(const auto& /*other*/) const { return ""; }

  private:
    static std::string no_queue(const std::string& queue) { return "NOT_FOUND - no queue '" + queue + "'"; }
};

}  // namespace

Outcome Declarer::unanswered(const Step& step) {
    Outcome outcome;
    outcome.result = Result::refused;
    outcome.text = std::visit(ExplainSilence{}, step);
    outcome.unanswered = true;
    return outcome;
}

Outcome Declarer::ended(const Step& step, std::string_view words) {
    std::string text = std::visit(WordsFor{}, step);
    const int code = text.empty() ? core::reply_code::internal_error : core::reply_code::not_found;
    if (text.empty())
        text = std::string{words.substr(words.find(' ') + 1)} +
               ": it ends the connection where what it has to say does not fit 255 bytes";
    const std::optional<QueueVariant> none;
    return std::visit(Explain{code, text, none}, step);
}

Declarer::Step step_of(const core::TopologyItem& item) {
    return std::visit([](const auto& alternative) { return Declarer::Step{alternative}; }, item);
}

Declarer::Declarer(TopologyCommands& commands, Channel first, Channel last) : commands_(commands) {
    for (int channel = first; channel <= std::max(first, last); ++channel)
        lanes_.push_back({static_cast<Channel>(channel)});
}

void Declarer::submit(Step step, Sink sink) {
    if (elsewhere_ && elsewhere_(step, sink)) return;
    waiting_.push_back({std::move(step), std::move(sink)});
    advance();
}

bool Declarer::idle() const {
    return waiting_.empty() && std::none_of(lanes_.begin(), lanes_.end(), [](const Lane& l) { return l.under_way(); });
}

std::vector<Declarer::Step> Declarer::asked() const {
    std::vector<Step> steps;
    for (const Lane& lane : lanes_)
        if (lane.state == State::asked) steps.push_back(lane.step->step);
    return steps;
}

const Declarer::Lane* Declarer::find(Channel channel) const {
    const auto at =
        std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& lane) { return lane.channel == channel; });
    return at == lanes_.end() ? nullptr : &*at;
}

Declarer::Lane* Declarer::find(Channel channel) {
    return const_cast<Lane*>(std::as_const(*this).find(channel));
}

// ── What the broker says ────────────────────────────────────────────────────────────────────────────────────────

void Declarer::on_channel_open(Channel channel) {
    Lane* const lane = find(channel);
    if (lane == nullptr || lane->state == State::given_up) return;
    lane->state = State::ready;
    go_on(*lane);
}

void Declarer::on_declared(Channel channel, const QueueCounts& counts) {
    Lane* const lane = find(channel);
    if (lane == nullptr || lane->state != State::asked) return;
    lane->state = State::ready;
    Outcome outcome;
    outcome.counts = counts;
    const Waiting& asked = *lane->step;
    if (asked.variant) {
        outcome.told = asked.variant->note();
        outcome.text = outcome.told.line();
        outcome.lacking = asked.variant->lacking();
    }
    finish(*lane, outcome);
}

/// One that is given up stays so: the broker also answers our channel.close.
void Declarer::on_channel_closed(const ChannelClosed& closed) {
    Lane* const lane = find(closed.channel);
    if (lane == nullptr || lane->state == State::given_up) return;
    const bool asked = lane->state == State::asked;
    lane->state = State::closed;
    if (!asked || try_another_variant(*lane->step, closed.code, closed.text)) return go_on(*lane);
    const Waiting& step = *lane->step;
    finish(*lane, std::visit(Explain{closed.code, closed.text, step.variant}, step.step));
}

void Declarer::on_channel_left(Channel channel) {
    Lane* const lane = find(channel);
    if (lane == nullptr || lane->state != State::given_up) return;
    lane->state = State::closed;
    lane->step.reset();
    for (Waiting& waiting : waiting_) {
        if (!blocked(waiting)) waiting.blocked_since.reset();
    }
    advance();
}

bool Declarer::try_another_variant(Waiting& asked, int code, std::string_view text) {
    const auto* queue = std::get_if<core::QueueSpec>(&asked.step);
    if (queue == nullptr) return false;
    if (!asked.variant) asked.variant.emplace(*queue);
    return asked.variant->adapt(code, text);
}

void Declarer::finish(Lane& lane, const Outcome& outcome) {
    const Sink sink = std::move(lane.step->sink);
    lane.step.reset();
    sink(outcome);
    advance();
}

// ── What begins when ────────────────────────────────────────────────────────────────────────────────────────────

void Declarer::advance() {
    while (may_begin()) {
        const auto lane = std::find_if(lanes_.begin(), lanes_.end(), [](const Lane& each) { return each.free(); });
        const auto next = waiting_.begin() + (next_to_begin() - waiting_.cbegin());
        lane->step = std::move(*next);
        lane->began.reset();
        waiting_.erase(next);
        go_on(*lane);
    }
}

/// Opens the channel or asks, as far as there is a step to.
void Declarer::go_on(Lane& lane) {
    if (!lane.step) return;
    if (lane.state == State::closed) {
        lane.state = State::opening;
        commands_.open_channel(lane.channel);
    } else if (lane.state == State::ready) {
        lane.state = State::asked;
        std::visit(Ask{commands_, lane.channel, lane.step->variant}, lane.step->step);
    }
}

/// One at a time; but where several have been without an answer for so long that they are overtaken, twice as many: a
/// dozen queues that hang are not found out one after the other.
bool Declarer::may_begin() const {
    const auto overtaken = std::count_if(lanes_.begin(), lanes_.end(),
                                         [&](const Lane& lane) { return lane.under_way() && overtakes(lane); });
    const auto recent = std::count_if(lanes_.begin(), lanes_.end(), [&](const Lane& lane) { return !overtakes(lane); });
    const auto at_once = overtaken < 2 ? 1 : 2 * overtaken;
    return !waiting_.empty() && recent < at_once &&
           std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.free(); }) &&
           next_to_begin() != waiting_.end();
}

/// Whether that channel need not be waited for any longer.
bool Declarer::overtakes(const Lane& lane) const {
    return !lane.under_way() || (lane.began && now_ - *lane.began >= overtaking_after);
}

/// The same question twice would only take a second channel.
std::deque<Declarer::Waiting>::const_iterator Declarer::next_to_begin() const {
    return std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
        return std::none_of(lanes_.begin(), lanes_.end(),
                            [&](const Lane& lane) { return lane.step && lane.step->step == waiting.step; });
    });
}

// ── What is not answered ────────────────────────────────────────────────────────────────────────────────────────

void Declarer::on_tick(core::SteadyTime now) {
    now_ = now;
    note_begun();
    std::vector<Waiting> over = give_up_overdue();
    for (Waiting& waiting : take_blocked_too_long())
        over.push_back(std::move(waiting));
    for (const Waiting& step : over)
        step.sink(unanswered(step.step));
    advance();
    note_begun();
}

void Declarer::note_begun() {
    for (Lane& lane : lanes_) {
        if (lane.under_way() && !lane.began) lane.began = now_;
    }
}

std::vector<Declarer::Waiting> Declarer::give_up_overdue() {
    std::vector<Waiting> over;
    for (Lane& lane : lanes_) {
        if (!lane.under_way() || now_ - *lane.began < declare_timeout) continue;
        over.push_back({lane.step->step, std::move(lane.step->sink)});
        lane.state = State::given_up;
        commands_.close_channel(lane.channel);
    }
    return over;
}

std::vector<Declarer::Waiting> Declarer::take_blocked_too_long() {
    std::vector<Waiting> over;
    if (!any_given_up()) return over;
    for (Waiting& waiting : waiting_) {
        if (!waiting.blocked_since && blocked(waiting)) waiting.blocked_since = now_;
    }
    const auto too_long = [&](const Waiting& waiting) {
        return waiting.blocked_since && now_ - *waiting.blocked_since >= declare_timeout;
    };
    std::copy_if(waiting_.begin(), waiting_.end(), std::back_inserter(over), too_long);
    std::erase_if(waiting_, too_long);
    return over;
}

bool Declarer::any_given_up() const {
    return std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.state == State::given_up; });
}

/// All channels are given up, or one over the same question.
bool Declarer::blocked(const Waiting& waiting) const {
    const auto given_up = [](const Lane& lane) { return lane.state == State::given_up; };
    return std::all_of(lanes_.begin(), lanes_.end(), given_up) ||
           std::any_of(lanes_.begin(), lanes_.end(),
                       [&](const Lane& lane) { return given_up(lane) && lane.step->step == waiting.step; });
}

std::optional<core::SteadyTime> Declarer::next_tick() const {
    std::optional<core::SteadyTime> next;
    const auto consider = [&](core::SteadyTime due) { next = std::min(next.value_or(due), due); };
    std::optional<core::SteadyTime> overtaken_next;
    for (const Lane& lane : lanes_) {
        if (!lane.under_way()) continue;
        if (!lane.began) return now_;
        consider(*lane.began + declare_timeout);
        const core::SteadyTime due = *lane.began + overtaking_after;
        if (!overtakes(lane)) overtaken_next = std::min(overtaken_next.value_or(due), due);
    }
    const bool room = std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.free(); });
    if (overtaken_next && room && next_to_begin() != waiting_.end()) consider(*overtaken_next);
    if (!any_given_up()) return next;
    for (const Waiting& waiting : waiting_) {
        if (waiting.blocked_since) {
            consider(*waiting.blocked_since + declare_timeout);
        } else if (blocked(waiting)) {
            consider(now_);
        }
    }
    return next;
}

}  // namespace retryd::amqp
