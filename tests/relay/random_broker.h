// A broker for random_test.cpp that may do at any moment whatever brokers do, and keeps book of every message: where it
// is, and whether what the relay tells it about a delivery is true.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/names.h"
#include "core/proof.h"
#include "relay/relay.h"

namespace retryd::relay::random {

/// splitmix64: the same numbers everywhere.
class Generator {
  public:
    explicit Generator(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}

    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }
    bool chance(std::size_t percent) { return below(100) < percent; }

  private:
    std::uint64_t state_;
};

/// The promise is broken.
struct Broken : std::logic_error {
    using std::logic_error::logic_error;
};

/// The connection is gone.
struct Lost {
    bool provoked = false;
};

enum class Flaw : char {
    none = '-',
    large = 'l',            // does not fit a frame
    unreadable = 'u',       // nests too deep
    closes_channel = 'c',   // a publication of it closes the channel
    ends_connection = 'e',  // … the connection
    breaks_sending = 'b',   // the broker ends the connection before all of it is sent
};

enum class Shape { died, undelivered, no_death, detoured };

/// A message in the error queue.
struct Letter {
    int id = 0;
    Flaw flaw = Flaw::none;
    Shape shape = Shape::died;
    std::string queue = {};
    std::string reason = {};
    std::int64_t attempt = 0;
    std::uint8_t priority = 0;
    bool parked_before = false;
    bool unknown = false;  // nothing tells its work queue: it may go to the catch-all alone
    bool redelivered = false;

    int copy = 0;  // one that took the detour is another: the former may still be in the error queue

    std::string body() const { return std::to_string(id) + ':' + std::to_string(copy) + ':' + static_cast<char>(flaw); }
    /// What the policies of the test say may be forgotten.
    bool may_be_dropped() const { return shape != Shape::undelivered && queue == "email" && reason == "maxlen"; }
};

/// What became of a message.
struct Fate {
    bool flawed = false;
    int arrived = 0;  // copies that a queue other than the error queue has taken
    bool dead_lettered = false;
    bool dropped = false;
    int broke_alone = 0;  // connections that ended while nothing else was in flight
    int published_in = 0;
    int published_at_once = 0;
    std::string published_to;
    core::SteadyTime published_at{};

    bool settled() const { return arrived > 0 || dead_lettered || dropped; }
};

/// What outlives a connection.
struct Vhost {
    std::set<std::string> queues;
    std::set<std::string> exchanges;
    std::set<std::string> bound;      // to the return exchange
    std::set<std::string> refused;    // declares, checks and bindings of these are refused
    std::set<std::string> forbidden;  // exchanges that may not be published to
    std::set<std::string> full;       // queues that refuse what is published
    std::set<std::string> silent;     // queues and exchanges whose publications hang
    std::map<int, Fate> fates;
    std::vector<Letter> error_queue;
    std::vector<std::pair<core::SteadyTime, Letter>> detour;  // and when it comes again
    int next_id = 1;
    int next_copy = 1;
    bool declare = true;
    std::size_t nacks = 0;  // of 100
};

inline constexpr core::Milliseconds shortest_backoff{1'000};

inline int id_of(std::string_view body) {
    return std::stoi(std::string{body});
}

/// A header table and all that its views need.
class Headers {
  public:
    explicit Headers(const Letter& letter) {
        const bool hop = letter.shape == Shape::undelivered || letter.shape == Shape::detoured;
        std::string_view place = letter.queue;
        if (hop) place = letter.shape == Shape::detoured ? "retryd.detour.2s" : "retryd.shared.1s";
        death_.push_back({"queue", core::Value::of_longstr(place)});
        death_.push_back({"reason", core::Value::of_longstr(hop ? "expired" : std::string_view{letter.reason})});
        deaths_ = {core::Kind::table, core::Table{death_.data(), death_.size()}};
        if (letter.shape != Shape::no_death)
            fields_.push_back({"x-death", {core::Kind::array, {core::Array{&deaths_, 1}}}});
        if (hop || letter.attempt > 0) {
            fields_.push_back({"retryd-queue", core::Value::of_longstr(letter.queue)});
            fields_.push_back({"retryd-attempt", core::Value::of_long(letter.attempt)});
            fields_.push_back({"retryd-reason", core::Value::of_longstr(letter.reason)});
        }
        if (letter.parked_before) fields_.push_back({"retryd-parked-reason", core::Value::of_longstr("too-old")});
        fields_.push_back(core::test::proof_of(table(), proof_));
    }
    core::Table table() const { return {fields_.data(), fields_.size()}; }

  private:
    std::vector<core::Field> death_;
    core::Value deaths_;
    std::vector<core::Field> fields_;
    core::ProofText proof_{};
};

/// A command that waits for its answer.
struct Question {
    enum class Kind { declare, check, bind };
    Kind kind = Kind::declare;
    std::string name;
    core::Topology topology = {};
};

/// One connection to the vhost.
class RandomBroker : public Broker {
  public:
    RandomBroker(Vhost& vhost, Generator& generator, const core::Now& now, const PoisonDetector& poison, int session)
        : vhost_(vhost), generator_(generator), now_(now), poison_(poison), session_(session) {}

    // ── commands from the relay ──
    void open_publishing(ChannelIndex channel) override;
    void close_publishing(ChannelIndex channel) override;
    PublishResult publish(ChannelIndex channel, const core::Publication& publication) override;
    bool has_received_all() override { return !socket_full; }
    std::size_t largest_window() const override { return 4'500; }
    void ack(core::DeliveryTag tag, bool multiple) override;
    void requeue(core::DeliveryTag tag) override;
    void dead_letter(core::DeliveryTag tag) override;
    bool keep(core::DeliveryTag, std::string_view) override { return false; }
    void declare(std::string_view key, const core::Topology& topology) override;
    void check(std::string_view queue) override { ask({Question::Kind::check, std::string{queue}}); }
    void bind_to_return_exchange(std::string_view queue) override { ask({Question::Kind::bind, std::string{queue}}); }

    // ── what the test lets happen ──
    void deliver_next(Relay& relay);
    void answer_one(Relay& relay);
    /// The broker reads the next publication of any channel: it goes where it leads, is refused, or breaks something.
    void process_one(Relay& relay);
    void confirm_some(Relay& relay);
    /// A publishing channel is closed for no fault of a message.
    void close_any_channel(Relay& relay, int code, const std::string& why);
    /// All that is unacked goes back.
    void end(const Lost* lost);

    bool may_deliver() const { return !vhost_.error_queue.empty() && unacked_.size() < prefetch; }
    bool idle() const { return questions_.empty() && unconfirmed() == 0; }
    std::size_t unacked() const { return unacked_.size(); }
    std::size_t unconfirmed() const;

    const Relay* session_relay = nullptr;
    bool blocked = false;
    bool socket_full = false;
    bool breaks_while_sending = false;
    std::size_t answers_allowed = 4;  // to the same question, under way at once

  private:
    static constexpr std::size_t prefetch = 12;

    struct Sent {
        int id = 0;
        Flaw flaw = Flaw::none;
        std::string exchange;
        std::string key;
        std::string work_queue;  // the header that the return exchange looks at
        Letter letter = {};      // as it was delivered
        std::int64_t attempt = 0;
        bool says_parked = false;
        bool processed = false;
        bool accepted = true;
        bool returned = false;
        std::string address() const { return exchange.empty() ? key : exchange; }
    };
    struct Channel {
        PublishSeq next_seq = 1;
        std::map<PublishSeq, Sent> sent;
    };
    using Channels = std::map<ChannelIndex, Channel>;

    Channels::iterator any_channel();
    void close_channel(Relay& relay, Channels::iterator channel, int code, const std::string& why);
    Letter take_unacked(core::DeliveryTag tag, const char* what);
    void check_ack(const Letter& letter);
    void check_publication(int id, const std::string& address);
    void ask(Question question);
    void answer(Relay& relay, const Question& question);
    bool make(const core::TopologyItem& item);
    bool find_or_make(std::set<std::string>& known, const std::string& name) const;
    bool lands(const Sent& sent);
    void arrive(const Sent& sent);
    std::string missing_or_forbidden(const Sent& sent, int& code) const;
    static bool may_confirm_up_to(const Channel& channel, PublishSeq seq);

    Vhost& vhost_;
    Generator& generator_;
    const core::Now& now_;
    const PoisonDetector& poison_;
    int session_;
    core::DeliveryTag next_tag_ = 1;
    std::map<core::DeliveryTag, Letter> unacked_;
    Channels channels_;
    std::vector<ChannelIndex> closing_;  // close has not been answered
    std::set<std::string> confirmed_;    // bodies of what has arrived and was confirmed, of what is unacked
    std::set<int> shadowed_;             // in flight beside a return with the same address: nobody can tell them apart
    std::vector<Question> questions_;
};

// ── Commands from the relay ─────────────────────────────────────────────────────────────────────────────────────

/// Nothing is tried where it was refused again and again without a pause: only where others got through meanwhile. And
/// nothing goes beside what has to be tried alone.
inline void RandomBroker::check_publication(int id, const std::string& address) {
    Fate& fate = vhost_.fates[id];
    if (fate.published_in == session_ && fate.published_to == address &&
        now_.steady - fate.published_at < shortest_backoff && now_.steady > fate.published_at &&
        ++fate.published_at_once > 5) {
        throw Broken("message " + std::to_string(id) + " was published again and again without a pause to " + address);
    }
    if (fate.published_to != address || now_.steady - fate.published_at >= shortest_backoff) fate.published_at_once = 0;
    const std::size_t silent = session_relay != nullptr ? session_relay->in_flight_in_silence() : 0;
    if (poison_.isolating() && unconfirmed() > silent) throw Broken("what should be tried alone was not alone");
    fate.published_in = session_;
    fate.published_to = address;
    fate.published_at = now_.steady;
}

inline void RandomBroker::open_publishing(ChannelIndex channel) {
    if (!channels_.try_emplace(channel).second) throw Broken("a channel was opened twice: 504");
}

/// What was sent there and not processed yet may still arrive.
inline void RandomBroker::close_publishing(ChannelIndex channel) {
    channels_.erase(channel);
    closing_.push_back(channel);
}

inline std::size_t RandomBroker::unconfirmed() const {
    std::size_t sum = 0;
    for (const auto& [index, channel] : channels_)
        sum += channel.sent.size();
    return sum;
}

inline PublishResult RandomBroker::publish(ChannelIndex index, const core::Publication& publication) {
    const auto channel = channels_.find(index);
    if (channel == channels_.end()) throw Broken("a channel is published to that is not open: 504");
    const int id = id_of(publication.message.body);
    const auto flaw = static_cast<Flaw>(publication.message.body.back());
    if (flaw == Flaw::large) return PublishResult::header_too_large;
    if (blocked || socket_full) return PublishResult::would_block;
    if (breaks_while_sending) throw Lost{};
    const core::Table headers = publication.message.properties.header_table();
    const auto work_queue = core::text_of(core::find(headers, core::header::queue)).value_or("");
    Sent sent{id, flaw, std::string{publication.exchange}, std::string{publication.routing_key},
              std::string{work_queue}};
    const auto delivered = std::find_if(unacked_.begin(), unacked_.end(), [&](const auto& unacked) {
        return unacked.second.body() == publication.message.body;
    });
    if (delivered == unacked_.end()) throw Broken("a message was published that is not there any more");
    sent.letter = delivered->second;
    sent.attempt = core::integer_of(core::find(headers, core::header::attempt)).value_or(0);
    sent.letter.unknown = sent.letter.unknown || sent.letter.shape == Shape::no_death;
    sent.says_parked = core::find(headers, core::header::parked_reason) != nullptr;
    if (sent.letter.unknown && sent.address() != "retryd.parked" && !core::looks_like_detour(sent.key))
        throw Broken("a message that nothing is known of was taken for somebody's");
    const std::int64_t spent = sent.letter.shape == Shape::died ? 1 : 0;
    const bool was_parked = sent.letter.queue == "retryd.parked";  // its headers stay as they are
    if (sent.letter.shape != Shape::no_death && !was_parked && sent.attempt != sent.letter.attempt + spent)
        throw Broken("an attempt was spent or forgotten");
    check_publication(id, sent.address());
    if (flaw == Flaw::breaks_sending) throw Lost{true};
    for (const auto& [seq, other] : channel->second.sent) {
        if (other.address() != sent.address()) throw Broken("two targets share a channel");
    }
    channel->second.sent[channel->second.next_seq++] = std::move(sent);
    return PublishResult::sent;
}

inline Letter RandomBroker::take_unacked(core::DeliveryTag tag, const char* what) {
    const auto found = unacked_.find(tag);
    if (found == unacked_.end()) throw Broken(std::string{what} + " of an unknown delivery tag: 406");
    Letter letter = std::move(found->second);
    unacked_.erase(found);
    return letter;
}

inline void RandomBroker::check_ack(const Letter& letter) {
    if (confirmed_.erase(letter.body()) > 0) return;
    if (!letter.may_be_dropped()) {
        throw Broken("message " + std::to_string(letter.id) + " was acked, and has arrived nowhere");
    }
    vhost_.fates[letter.id].dropped = true;
}

inline void RandomBroker::ack(core::DeliveryTag tag, bool multiple) {
    if (!unacked_.contains(tag)) throw Broken("ack of an unknown delivery tag: 406");
    while (multiple && unacked_.begin()->first < tag)
        check_ack(take_unacked(unacked_.begin()->first, "ack"));
    check_ack(take_unacked(tag, "ack"));
}

inline void RandomBroker::requeue(core::DeliveryTag tag) {
    Letter letter = take_unacked(tag, "nack");
    if (confirmed_.erase(letter.body()) > 0 && !shadowed_.contains(letter.id)) {
        throw Broken("what was confirmed was given back");
    }
    letter.redelivered = true;
    vhost_.error_queue.insert(vhost_.error_queue.begin(), std::move(letter));
}

inline void RandomBroker::dead_letter(core::DeliveryTag tag) {
    const Letter letter = take_unacked(tag, "reject");
    Fate& fate = vhost_.fates[letter.id];
    if (letter.flaw == Flaw::none && fate.broke_alone < 2) {
        throw Broken("message " + std::to_string(letter.id) + " was dead-lettered, and is innocent");
    }
    fate.dead_lettered = true;
}

inline void RandomBroker::declare(std::string_view key, const core::Topology& topology) {
    ask({Question::Kind::declare, std::string{key}, topology});
}

inline void RandomBroker::ask(Question question) {
    const auto same = std::count_if(questions_.begin(), questions_.end(), [&](const Question& q) {
        return q.kind == question.kind && q.name == question.name;
    });
    if (static_cast<std::size_t>(same) >= answers_allowed) throw Broken("asked too often: " + question.name);
    questions_.push_back(std::move(question));
}

// ── What happens ────────────────────────────────────────────────────────────────────────────────────────────────

inline void RandomBroker::deliver_next(Relay& relay) {
    Letter letter = std::move(vhost_.error_queue.front());
    vhost_.error_queue.erase(vhost_.error_queue.begin());
    const core::DeliveryTag tag = next_tag_++;
    unacked_[tag] = letter;
    if (letter.flaw == Flaw::unreadable) return relay.on_unreadable_delivery(tag, now_);
    const Headers headers(letter);
    const std::string body = letter.body();
    core::Message message;
    message.properties.headers = headers.table();
    if (letter.priority > 0) message.properties.priority = letter.priority;
    message.body = body;
    relay.on_delivery({tag, letter.redelivered, message}, now_);
}

/// The answers to one question come in the order of asking, others overtake.
inline void RandomBroker::answer_one(Relay& relay) {
    if (!closing_.empty() && generator_.chance(50)) {
        relay.on_publishing_left(closing_.back());
        closing_.pop_back();
    }
    if (questions_.empty() || blocked) return;
    const Question& any = questions_[generator_.below(questions_.size())];
    const auto first = std::find_if(questions_.begin(), questions_.end(),
                                    [&](const Question& q) { return q.kind == any.kind && q.name == any.name; });
    const Question question = *first;
    questions_.erase(first);
    answer(relay, question);
}

inline void RandomBroker::answer(Relay& relay, const Question& question) {
    if (question.kind == Question::Kind::declare) {
        const bool made = std::all_of(question.topology.begin(), question.topology.end(),
                                      [&](const core::TopologyItem& item) { return make(item); });
        return relay.on_declared(question.name, made ? DeclareOutcome::ready : DeclareOutcome::refused,
                                 made ? "" : "406", now_);
    }
    const bool there = vhost_.queues.contains(question.name);
    auto outcome = there ? CheckOutcome::exists : CheckOutcome::missing;
    if (vhost_.refused.contains(question.name)) outcome = CheckOutcome::refused;
    if (question.kind == Question::Kind::check) return relay.on_checked(question.name, outcome, now_);
    vhost_.exchanges.insert(std::string{core::return_exchange_name});
    if (outcome == CheckOutcome::exists) vhost_.bound.insert(question.name);
    relay.on_bound(question.name, outcome, outcome == CheckOutcome::refused ? "403" : "", now_);
}

inline bool RandomBroker::find_or_make(std::set<std::string>& known, const std::string& name) const {
    if (vhost_.refused.contains(name)) return false;
    if (vhost_.declare) known.insert(name);
    return known.contains(name);
}

inline bool RandomBroker::make(const core::TopologyItem& item) {
    if (const auto* queue = std::get_if<core::QueueSpec>(&item)) return find_or_make(vhost_.queues, queue->name);
    if (const auto* exchange = std::get_if<core::ExchangeSpec>(&item)) {
        return find_or_make(vhost_.exchanges, exchange->name);
    }
    if (const auto* foreign = std::get_if<core::ForeignExchange>(&item))
        return vhost_.exchanges.contains(foreign->name);
    return true;
}

/// Whether a queue takes it.
inline bool RandomBroker::lands(const Sent& sent) {
    if (sent.exchange.empty()) return vhost_.queues.contains(sent.key);
    if (sent.exchange != core::return_exchange_name) {
        return vhost_.queues.contains(sent.exchange == "team.dlx" ? "graveyard" : sent.exchange);
    }
    if (vhost_.bound.contains(sent.work_queue) && vhost_.queues.contains(sent.work_queue)) return true;
    // Back through the alternate exchange, as a message of its own.
    const int id = vhost_.next_id++;
    vhost_.fates[id];
    vhost_.error_queue.push_back({id, Flaw::none, Shape::no_death});
    return true;
}

inline std::string RandomBroker::missing_or_forbidden(const Sent& sent, int& code) const {
    if (sent.exchange.empty()) return "";
    code = vhost_.forbidden.contains(sent.exchange) ? 403 : 404;
    if (code == 404 && vhost_.exchanges.contains(sent.exchange)) return "";
    return (code == 403 ? "ACCESS_REFUSED - access to exchange '" : "NOT_FOUND - no exchange '") + sent.exchange +
           "' in vhost '/'";
}

/// The end where none is open.
inline RandomBroker::Channels::iterator RandomBroker::any_channel() {
    return channels_.empty()
               ? channels_.end()
               : std::next(channels_.begin(), static_cast<std::ptrdiff_t>(generator_.below(channels_.size())));
}

inline void RandomBroker::process_one(Relay& relay) {
    const auto channel = any_channel();
    if (channel == channels_.end() || blocked) return;
    auto& all = channel->second.sent;
    const auto next = std::find_if(all.begin(), all.end(), [](const auto& s) { return !s.second.processed; });
    if (next == all.end()) return;
    Sent& sent = next->second;
    if (sent.flaw == Flaw::ends_connection) throw Lost{true};
    if (sent.flaw == Flaw::closes_channel) return close_channel(relay, channel, 406, "PRECONDITION_FAILED - too large");
    int code = 0;
    const std::string why = missing_or_forbidden(sent, code);
    if (!why.empty()) return close_channel(relay, channel, code, why);
    if (vhost_.silent.contains(sent.address())) return;  // the channel hangs
    sent.processed = true;
    sent.accepted =
        !vhost_.full.contains(sent.key) && !vhost_.full.contains(sent.exchange) && !generator_.chance(vhost_.nacks);
    if (!sent.accepted) return;
    sent.returned = !lands(sent);
    if (!sent.returned) {
        arrive(sent);
        return;
    }
    for (const auto& [seq, other] : all) {
        if (other.exchange == sent.exchange && other.key == sent.key) shadowed_.insert(other.id);
    }
    relay.on_returned(channel->first, sent.exchange, sent.key, now_);
}

/// What takes the detour comes again; everything else has arrived.
inline void RandomBroker::arrive(const Sent& sent) {
    Fate& fate = vhost_.fates[sent.id];
    if (!core::looks_like_detour(sent.key)) {
        ++fate.arrived;
        return;
    }
    Letter letter = sent.letter;
    letter.shape = Shape::detoured;
    letter.attempt = sent.attempt;
    letter.parked_before = sent.says_parked;
    letter.redelivered = false;
    letter.copy = vhost_.next_copy++;
    vhost_.detour.emplace_back(now_.steady + core::Milliseconds{2'000}, std::move(letter));
}

inline bool RandomBroker::may_confirm_up_to(const Channel& channel, PublishSeq seq) {
    const bool accepted = channel.sent.at(seq).accepted;
    return std::all_of(channel.sent.begin(), channel.sent.upper_bound(seq),
                       [&](const auto& s) { return s.second.processed && s.second.accepted == accepted; });
}

inline void RandomBroker::confirm_some(Relay& relay) {
    const auto channel = any_channel();
    if (channel == channels_.end()) return;
    auto& all = channel->second.sent;
    std::vector<PublishSeq> processed;
    for (const auto& [seq, sent] : all) {
        if (sent.processed) processed.push_back(seq);
    }
    if (processed.empty()) return;
    const PublishSeq seq = processed[generator_.below(processed.size())];
    const bool multiple = may_confirm_up_to(channel->second, seq) && generator_.chance(50);
    const bool accepted = all.at(seq).accepted;
    const auto first = multiple ? all.begin() : all.find(seq);
    const auto last = all.upper_bound(seq);
    for (auto at = first; at != last; ++at) {
        if (accepted && !at->second.returned) confirmed_.insert(at->second.letter.body());
    }
    all.erase(first, last);
    relay.on_confirm(channel->first, seq, multiple, accepted, now_);
}

inline void RandomBroker::close_channel(Relay& relay, Channels::iterator channel, int code, const std::string& why) {
    const ChannelIndex index = channel->first;
    channels_.erase(channel);
    relay.on_publishing_closed(index, code, why, now_);
}

inline void RandomBroker::close_any_channel(Relay& relay, int code, const std::string& why) {
    const auto channel = any_channel();
    if (channel != channels_.end()) close_channel(relay, channel, code, why);
}

inline void RandomBroker::end(const Lost* lost) {
    if (lost != nullptr && unconfirmed() == 1) {
        for (const auto& [index, channel] : channels_) {
            if (!channel.sent.empty()) ++vhost_.fates[channel.sent.begin()->second.id].broke_alone;
        }
    }
    for (auto& [tag, letter] : unacked_)
        letter.redelivered = true;
    std::vector<Letter> again;
    for (auto& [tag, letter] : unacked_)
        again.push_back(std::move(letter));
    vhost_.error_queue.insert(vhost_.error_queue.begin(), again.begin(), again.end());
    unacked_.clear();
}

}  // namespace retryd::relay::random
