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
#include "relay/relay.h"

namespace retryd::relay::random {

/// splitmix64: the same numbers everywhere.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}

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

enum class Shape { died, undelivered, no_death };

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
    bool redelivered = false;

    std::string body() const { return std::to_string(id) + ':' + static_cast<char>(flaw); }
    /// What the policies of the test say may be forgotten.
    bool may_be_dropped() const { return shape == Shape::died && queue == "email" && reason == "maxlen"; }
};

/// What became of a message.
struct Fate {
    bool flawed = false;
    int arrived = 0;  // copies that a queue other than the error queue has taken
    bool dead_lettered = false;
    bool dropped = false;
    int broke_alone = 0;  // connections that ended while nothing else was in flight
    int published_in = 0;
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
    std::map<int, Fate> fates;
    std::vector<Letter> error_queue;
    int next_id = 1;
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
        const bool rung = letter.shape == Shape::undelivered;
        const auto place = [&](std::string_view of_rung, std::string_view otherwise) {
            return rung ? of_rung : otherwise;
        };
        death_.push_back({"queue", core::Value::of_longstr(place("retryd.shared.1s", letter.queue))});
        death_.push_back({"reason", core::Value::of_longstr(place("expired", letter.reason))});
        deaths_ = {core::Kind::table, core::Table{death_.data(), death_.size()}};
        if (letter.shape != Shape::no_death)
            fields_.push_back({"x-death", {core::Kind::array, {core::Array{&deaths_, 1}}}});
        if (rung || letter.attempt > 0) {
            fields_.push_back({"retryd-queue", core::Value::of_longstr(letter.queue)});
            fields_.push_back({"retryd-attempt", core::Value::of_long(letter.attempt)});
        }
        if (letter.parked_before) fields_.push_back({"retryd-parked-reason", core::Value::of_longstr("too-old")});
    }
    core::Table table() const { return {fields_.data(), fields_.size()}; }

  private:
    std::vector<core::Field> death_;
    core::Value deaths_;
    std::vector<core::Field> fields_;
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
    RandomBroker(Vhost& vhost, Dice& dice, const core::Now& now, const PoisonDetector& poison, int session)
        : vhost_(vhost), dice_(dice), now_(now), poison_(poison), session_(session) {}

    // ── commands from the relay ──
    PublishResult publish(const core::Publication& publication) override;
    void ack(core::DeliveryTag tag, bool multiple) override;
    void requeue(core::DeliveryTag tag) override;
    void dead_letter(core::DeliveryTag tag) override;
    void declare(std::string_view key, const core::Topology& topology) override;
    void check(std::string_view queue) override { ask({Question::Kind::check, std::string{queue}}); }
    void bind_to_return_exchange(std::string_view queue) override { ask({Question::Kind::bind, std::string{queue}}); }

    // ── what the test lets happen ──
    void deliver_next(Relay& relay);
    void answer_one(Relay& relay);
    /// The broker reads the next publication: it goes where it leads, is refused, or breaks something.
    void process_one(Relay& relay);
    void confirm_some(Relay& relay);
    /// The publishing channel was closed for no fault of a message.
    void close_channel(Relay& relay, int code, const std::string& why);
    /// All that is unacked goes back.
    void end(const Lost* lost);

    bool may_deliver() const { return !vhost_.error_queue.empty() && unacked_.size() < prefetch; }
    bool idle() const { return questions_.empty() && sent_.empty(); }
    std::size_t unacked() const { return unacked_.size(); }
    std::size_t unconfirmed() const { return sent_.size(); }

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
        bool processed = false;
        bool accepted = true;
        bool returned = false;
    };

    Letter take_unacked(core::DeliveryTag tag, const char* what);
    void check_ack(const Letter& letter);
    void check_publication(int id);
    void ask(Question question);
    void answer(Relay& relay, const Question& question);
    bool make(const core::TopologyItem& item);
    bool find_or_make(std::set<std::string>& known, const std::string& name) const;
    bool lands(const Sent& sent);
    std::string missing_or_forbidden(const Sent& sent, int& code) const;
    bool may_confirm_up_to(PublishSeq seq) const;

    Vhost& vhost_;
    Dice& dice_;
    const core::Now& now_;
    const PoisonDetector& poison_;
    int session_;
    core::DeliveryTag next_tag_ = 1;
    PublishSeq next_seq_ = 1;
    std::map<core::DeliveryTag, Letter> unacked_;
    std::map<PublishSeq, Sent> sent_;
    std::set<int> confirmed_;  // what has arrived and was confirmed, of what is unacked
    std::set<int> shadowed_;   // in flight beside a return with the same address: nobody can tell them apart
    std::vector<Question> questions_;
};

// ── Commands from the relay ─────────────────────────────────────────────────────────────────────────────────────

/// Nothing is tried again at once, nothing goes beside what has to be tried alone.
inline void RandomBroker::check_publication(int id) {
    Fate& fate = vhost_.fates[id];
    if (fate.published_in == session_ && now_.steady - fate.published_at < shortest_backoff) {
        throw Broken("message " + std::to_string(id) + " was published twice without a pause");
    }
    if (poison_.isolating() && !sent_.empty()) throw Broken("what should be tried alone was not alone");
    fate.published_in = session_;
    fate.published_at = now_.steady;
}

inline PublishResult RandomBroker::publish(const core::Publication& publication) {
    const int id = id_of(publication.message.body);
    const auto flaw = static_cast<Flaw>(publication.message.body.back());
    if (flaw == Flaw::large) return PublishResult::header_too_large;
    if (blocked || socket_full) return PublishResult::would_block;
    if (breaks_while_sending) throw Lost{};
    check_publication(id);
    if (flaw == Flaw::breaks_sending) throw Lost{true};
    const core::Table headers = publication.message.properties.header_table();
    const auto work_queue = core::text_of(core::find(headers, core::header::queue)).value_or("");
    sent_[next_seq_++] = {id, flaw, std::string{publication.exchange}, std::string{publication.routing_key},
                          std::string{work_queue}};
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
    if (confirmed_.erase(letter.id) > 0) return;
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
    if (confirmed_.erase(letter.id) > 0 && !shadowed_.contains(letter.id)) {
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
    if (questions_.empty() || blocked) return;
    const Question& any = questions_[dice_.below(questions_.size())];
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

inline void RandomBroker::process_one(Relay& relay) {
    const auto next = std::find_if(sent_.begin(), sent_.end(), [](const auto& s) { return !s.second.processed; });
    if (next == sent_.end() || blocked) return;
    Sent& sent = next->second;
    if (sent.flaw == Flaw::ends_connection) throw Lost{true};
    if (sent.flaw == Flaw::closes_channel) return close_channel(relay, 406, "PRECONDITION_FAILED - too large");
    int code = 0;
    const std::string why = missing_or_forbidden(sent, code);
    if (!why.empty()) return close_channel(relay, code, why);
    sent.processed = true;
    sent.accepted =
        !vhost_.full.contains(sent.key) && !vhost_.full.contains(sent.exchange) && !dice_.chance(vhost_.nacks);
    if (!sent.accepted) return;
    sent.returned = !lands(sent);
    if (!sent.returned) {
        ++vhost_.fates[sent.id].arrived;
        return;
    }
    for (const auto& [seq, other] : sent_) {
        if (other.exchange == sent.exchange && other.key == sent.key) shadowed_.insert(other.id);
    }
    relay.on_returned(sent.exchange, sent.key, now_);
}

inline bool RandomBroker::may_confirm_up_to(PublishSeq seq) const {
    const bool accepted = sent_.at(seq).accepted;
    return std::all_of(sent_.begin(), sent_.upper_bound(seq),
                       [&](const auto& s) { return s.second.processed && s.second.accepted == accepted; });
}

inline void RandomBroker::confirm_some(Relay& relay) {
    std::vector<PublishSeq> processed;
    for (const auto& [seq, sent] : sent_) {
        if (sent.processed) processed.push_back(seq);
    }
    if (processed.empty()) return;
    const PublishSeq seq = processed[dice_.below(processed.size())];
    const bool multiple = may_confirm_up_to(seq) && dice_.chance(50);
    const bool accepted = sent_.at(seq).accepted;
    const auto first = multiple ? sent_.begin() : sent_.find(seq);
    const auto last = sent_.upper_bound(seq);
    for (auto at = first; at != last; ++at) {
        if (accepted && !at->second.returned) confirmed_.insert(at->second.id);
    }
    sent_.erase(first, last);
    relay.on_confirm(seq, multiple, accepted, now_);
}

inline void RandomBroker::close_channel(Relay& relay, int code, const std::string& why) {
    sent_.clear();
    next_seq_ = 1;
    relay.on_publishing_closed(code, why, now_);
}

inline void RandomBroker::end(const Lost* lost) {
    if (lost != nullptr && sent_.size() == 1) ++vhost_.fates[sent_.begin()->second.id].broke_alone;
    for (auto& [tag, letter] : unacked_)
        letter.redelivered = true;
    std::vector<Letter> again;
    for (auto& [tag, letter] : unacked_)
        again.push_back(std::move(letter));
    vhost_.error_queue.insert(vhost_.error_queue.begin(), again.begin(), again.end());
    unacked_.clear();
}

}  // namespace retryd::relay::random
