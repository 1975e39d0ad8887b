#include "config/keys_policy.h"

#include <chrono>

#include "config/scalars.h"
#include "config/steps.h"
#include "core/duration.h"

namespace retryd::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr milliseconds least_delay{1};

const Choices<core::QueueType> queue_types{{"quorum", core::QueueType::quorum}, {"classic", core::QueueType::classic}};
const Choices<core::ReturnPath> return_paths{{"queue", core::ReturnPath::queue},
                                             {"headers", core::ReturnPath::headers}};
const Choices<core::Action> actions{
    {"retry", core::Action::retry}, {"park", core::Action::park}, {"drop", core::Action::drop}};

void binding(Section& s, WrittenBinding& binding) {
    s.key("exchange", required(foreign_exchange(binding.exchange)),
          "An existing dead-letter exchange that work queues name as an argument.");
    s.key("routing_key", routing_key(binding.routing_key), "The binding's routing key; on a topic exchange, # is any.");
}

void errors(Section& s, Written& written) {
    s.key("exchange", exchange_name(written.exchange),
          "The fanout exchange to which the work queues' policy dead-letters.");
    s.key("queue", queue_name(written.queue), "The one queue that retryd consumes.");
    s.key("queue_type", choice(written.settings.policy.error_queue_type, queue_types), "The error queue's type.");
    s.key("prefetch", integer(written.settings.prefetch.messages, 1), "How many messages are in hand at once.");
    s.key("prefetch_bytes", size(written.settings.prefetch.body_bytes),
          "How many bytes of messages wait in hand at once; whichever limit is reached first.");
    s.sections(
        "bind", Presence::optional,
        [&](Section& in, const Place& place) {
            written.bindings.push_back({});
            written.bindings.back().place = place;
            binding(in, written.bindings.back());
        },
        "Other exchanges that lead to the error queue too.");
}

void jitter(Section& s, WrittenJitter& jitter) {
    s.key("width", required(percent(jitter.width_percent, {1, 99})),
          "By how much of its delay an attempt may come earlier.");
    s.key("lanes", required(integer(jitter.lanes, {2, 16})), "How many queues each rung becomes.");
}

void ladder(Section& s, WrittenLadder& ladder) {
    WrittenFormula& formula = ladder.formula;
    s.list("delays", each_step(ladder.delays),
           "The wait after the first failure, after the second, and so on; a message that fails after the last one is "
           "parked.");
    s.key("first", duration(formula.first, least_delay, core::longest_ttl, seconds{1}),
          "Instead of delays: the wait after the first failure.");
    s.key("factor", decimal(formula.factor, {1, 100}), "How much longer each wait is than the one before.");
    s.key("max", duration(formula.max, least_delay, core::longest_ttl, minutes{5}),
          "The longest wait; without it, the waits keep growing.");
    s.key("attempts", integer(formula.attempts, {1, longest_ladder}), "How many waits there are, first included.");
    s.key("return", choice(ladder.ladder.return_path, return_paths),
          "How messages come back: through delay queues of each work queue's own, or through delay queues that all "
          "work queues share, with the producer's routing key.");
    s.key("queue_type", choice(ladder.ladder.queue_type, queue_types), "The type of the ladder's delay queues.");
    s.section(
        "jitter", [&](Section& in) { jitter(in, ladder.jitter); }, "Spreads out what failed at the same moment.");
}

void on_death(Section& s, core::OnDeath& on) {
    s.key("rejected", choice(on.rejected, actions), "A consumer rejected it.");
    s.key("delivery_limit", choice(on.delivery_limit, actions),
          "It was delivered more often than its quorum queue allows.");
    s.key("expired", choice(on.expired, actions), "Its TTL expired in the work queue.");
    s.key("maxlen", choice(on.maxlen, actions), "The work queue was full.");
}

void parked_exchange(Section& s, WrittenParking& parked) {
    s.key("exchange", required(foreign_exchange(parked.exchange)),
          "An existing exchange to which the messages go instead.");
    s.key("routing_key", routing_key_template(parked.routing_key),
          "The routing key to publish with; without it, the producer's. {queue} stands for the work queue.");
}

void entry(Section& s, WrittenEntry& entry) {
    s.key("match", required(queue_pattern(entry.match)),
          "A work queue, or a glob: * stands for any number of characters, ? for one.");
    s.key("ladder", required(text(entry.ladder, "the name of a ladder")), "The ladder for its messages.");
    s.key("max_age", duration(entry.max_age, seconds{1}, core::longest_ttl, hours{24}),
          "A message is parked when its first failure is longer ago than this.");
    s.section(
        "on", [&](Section& in) { on_death(in, entry.on); },
        "What happens to a message, by the reason of its death: retry, park or drop.");
    Scalar queue = queue_template(entry.parked.queue);
    queue.expected.append(", or {exchange: NAME, routing_key: KEY}");
    s.text_or_section(
        "parked", queue, [&](Section& in) { parked_exchange(in, entry.parked); },
        "Where its messages are parked; without it, parking.queue. {queue} stands for the work queue.");
}

void parking(Section& s, Written& written) {
    s.key("queue", queue_template(written.parking_queue),
          "Where messages that have used up their ladder are parked. {queue} stands for the work queue.");
    s.key("catch_all", queue_name(written.catch_all),
          "Where messages that belong to no work queue, or to none that an entry matches, are parked.");
}

}  // namespace

void describe_errors(Section& file, Written& written) {
    file.section(
        "errors", [&](Section& s) { errors(s, written); }, "Where failed messages arrive.");
}

void describe_ladders(Section& file, Written& written) {
    file.named_sections(
        "ladders",
        [&](Section& s, const Place& place, const std::string& name) {
            WrittenLadder& written_ladder = written.ladders.emplace_back();
            written_ladder.name = name;
            written_ladder.place = place;
            ladder(s, written_ladder);
        },
        "The ladders, by name.");
}

void describe_queues(Section& file, Written& written) {
    file.sections(
        "queues", Presence::required,
        [&](Section& s, const Place& place) {
            WrittenEntry& written_entry = written.entries.emplace_back();
            written_entry.place = place;
            entry(s, written_entry);
        },
        "The work queues and their ladders; the first entry that matches wins.");
}

void describe_parking(Section& file, Written& written) {
    file.section(
        "parking", [&](Section& s) { parking(s, written); }, "Where messages are parked.");
}

}  // namespace retryd::config
