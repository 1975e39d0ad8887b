// A broker that takes its time: each of its queues answers soon, late, seldom, never, or refuses, and the error queue
// is consumed with a prefetch, as BrokerSession does. It measures how long every message waits for its own rung.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/names.h"
#include "relay/random_broker.h"
#include "relay/relay.h"

namespace retryd::relay::timed {

using core::Milliseconds;
using core::SteadyTime;
using random::Broken;
using random::Generator;

/// How a queue behaves.
struct Temper {
    Milliseconds slowest{50};    // an answer takes up to so long
    Milliseconds each{0};        // and so long for every one that waits before it
    bool silent = false;         // no confirm; the channel hangs until it is over
    bool loses = false;          // … and never confirms what it was sent meanwhile
    bool full = false;           // nacks
    std::size_t nacks = 0;       // of 100
    std::size_t answers = 100;   // of 100; the others hang the channel
    bool hangs_declare = false;  // a declare is not answered (the declarer gives up after 10 s)
    bool hangs_check = false;    // nor whether the work queue exists
    bool closes = false;         // every publication closes the channel: 404
    SteadyTime busy_until{};
};

struct Letter {
    int id = 0;
    std::string queue = {};
    bool detoured = false;
    bool no_death = false;
    SteadyTime came{};       // into the error queue
    SteadyTime delivered{};  // the last time
    int rounds = 0;
};

class Counts : public Reporter {
  public:
    std::map<std::string, int> settled_in;
    int requeues = 0;
    int stranded = 0;
    int unanswered = 0;

    void settled(const Settled& m) override { ++settled_in[std::string{m.target}]; }
    void dead_lettered(std::string_view, std::string_view) override {}
    void stuck(std::string_view, std::string_view, Milliseconds) override {}
    void parked_before(std::string_view) override {}
    void unroutable(std::string_view, std::string_view) override {}
    void silent(const TargetName&) override {}
    void requeued(const TargetName&, RequeueCause cause, Milliseconds) override {
        ++requeues;
        stranded += cause == RequeueCause::detour_refused ? 1 : 0;
        unanswered += cause == RequeueCause::unanswered ? 1 : 0;
    }
    void refused(TargetRole, std::string_view, std::string_view) override {}
    void healed(TargetRole, std::string_view) override {}
    void not_needed(TargetRole, std::string_view) override {}
};

class World : public Broker {
  public:
    struct Limits {
        std::size_t prefetch = 50;
        std::size_t channels = 128;
    };

    World(std::uint64_t seed, core::Policy policy, Limits limits)
        : generator_(seed),
          limits_(limits),
          policy_(std::make_shared<const core::Policy>(std::move(policy))),
          relay_(policy_, {{}, "retryd", [] { return 0.0; }, true, limits.channels}, *this, counts, poison_) {
        relay_.start();
    }

    /// All that begins with q, each with a ladder of one rung.
    static core::Policy policy(Milliseconds delay = Milliseconds{5'000}) {
        core::Policy p;
        p.entries.push_back({"q*", {"short", {delay}}, {"{queue}.parked"}});
        return p;
    }
    static std::string rung_of(const std::string& queue) { return queue + ".retry.5s"; }

    Temper& temper(const std::string& queue) { return tempers_[queue]; }
    /// What hangs there goes on.
    void heal(const std::string& queue);

    void send(const std::string& queue, int count = 1) {
        for (int i = 0; i < count; ++i)
            error_queue_.push_back({next_id_++, queue, false, false, now.steady, {}, 0});
    }
    /// Messages that nothing tells the work queue of.
    void send_without_death(int count) {
        for (int i = 0; i < count; ++i)
            error_queue_.push_back({next_id_++, "", false, true, now.steady, {}, 0});
    }
    /// A tick of the loop.
    void step(Milliseconds time = Milliseconds{20});
    void run(Milliseconds time, Milliseconds tick = Milliseconds{20}) {
        for (Milliseconds passed{}; passed < time; passed += tick)
            step(tick);
    }

    /// From the error queue to the first publication to its rung: the longest for that work queue.
    Milliseconds longest_way(const std::string& queue) const {
        const auto found = longest_.find(queue);
        return found == longest_.end() ? Milliseconds{} : found->second;
    }
    void forget_times() { longest_.clear(); }
    /// Of those in the error queue, delivered or not: for how long the oldest has waited.
    Milliseconds oldest(const std::string& queue) const;

    Relay& relay() { return relay_; }
    std::size_t open_channels() const { return channels_.size(); }
    std::size_t arrived(const std::string& queue) const {
        const auto found = arrived_.find(queue);
        return found == arrived_.end() ? 0 : found->second;
    }
    std::size_t published(const std::string& queue) const {
        const auto found = published_.find(queue);
        return found == published_.end() ? 0 : found->second;
    }
    std::size_t waiting_on_detours() const { return on_detour_; }
    std::size_t unacked() const { return unacked_.size(); }
    std::size_t left() const { return unacked_.size() + error_queue_.size() + on_detour_; }
    std::size_t second_copies() const { return second_copies_; }
    std::size_t consumers() const { return consumers_; }

    // ── commands from the relay ──
    void open_publishing(ChannelIndex channel) override {
        if (!channels_.try_emplace(channel, Channel{++generations_, {}, 0, false}).second)
            throw Broken("a channel was opened twice: 504");
        if (channels_.size() > limits_.channels) throw Broken("too many channels");
        ++opened;
    }
    void close_publishing(ChannelIndex channel) override {
        if (channels_.erase(channel) == 0) throw Broken("a channel was closed that is not open");
        at(Milliseconds{20}, [this, channel] { relay_.on_publishing_left(channel); });
    }
    PublishResult publish(ChannelIndex channel, const core::Publication& publication) override;
    bool has_received_all() override { return true; }
    std::size_t largest_window() const override { return limits_.prefetch * (most_further_consumers + 1); }
    void ack(core::DeliveryTag tag, bool multiple) override;
    void requeue(core::DeliveryTag tag) override;
    void dead_letter(core::DeliveryTag) override { throw Broken("dead-lettered"); }
    bool keep(core::DeliveryTag, std::string_view) override { return false; }
    void declare(std::string_view key, const core::Topology& topology) override;
    void check(std::string_view queue) override;
    void bind_to_return_exchange(std::string_view) override {}

    core::Now now{core::WallTime{Milliseconds{1'800'000'000'000}}, SteadyTime{Milliseconds{1'000'000}}};
    Counts counts;
    std::size_t opened = 0;
    std::size_t declares = 0;

  private:
    struct Channel {
        std::uint64_t generation = 0;
        std::vector<std::function<void()>> hanging;  // what goes on when it does
        PublishSeq last = 0;
        bool hangs = false;
        std::string queue = {};
    };
    static constexpr Milliseconds declare_timeout{10'000};
    static constexpr std::size_t most_further_consumers = 8;

    void at(Milliseconds in, std::function<void()> what) {
        // In the order of adding where it is the same time.
        events_.emplace(now.steady + in, std::move(what));
    }
    Milliseconds soon(const Temper& temper) {
        return Milliseconds{static_cast<int>(generator_.below(static_cast<std::size_t>(temper.slowest.count()) + 1))};
    }
    Temper& temper_of_target(const std::string& name);
    void deliver();
    void deliver_one(Letter letter);
    void answer(ChannelIndex index, std::uint64_t generation, PublishSeq seq, core::DeliveryTag tag, int id,
                const std::string& name);
    void confirm(ChannelIndex index, std::uint64_t generation, PublishSeq seq, bool acked);
    void consume_more();

    Generator generator_;
    Limits limits_;
    std::shared_ptr<const core::Policy> policy_;
    PoisonDetector poison_;
    std::map<std::string, Temper> tempers_;
    std::map<std::string, std::size_t> arrived_;
    std::map<std::string, std::size_t> published_;
    std::map<std::string, Milliseconds> longest_;
    std::multimap<SteadyTime, std::function<void()>> events_;
    std::deque<Letter> error_queue_;
    std::map<core::DeliveryTag, Letter> unacked_;
    std::map<ChannelIndex, Channel> channels_;
    std::set<std::pair<int, int>> taken_;  // by a queue: which message, in which round
    std::set<core::DeliveryTag> confirmed_;
    std::uint64_t generations_ = 0;
    core::DeliveryTag next_tag_ = 1;
    int next_id_ = 1;
    std::size_t consumers_ = 1;
    SteadyTime more_due_{};
    std::size_t on_detour_ = 0;
    std::size_t second_copies_ = 0;
    Relay relay_;
};

/// q7.retry.5s and q7.parked are q7's, a detour has one of its own.
inline Temper& World::temper_of_target(const std::string& name) {
    return tempers_[name.starts_with("q") ? name.substr(0, name.find('.')) : name];
}

inline void World::heal(const std::string& queue) {
    Temper& temper = tempers_[queue];
    const bool lost = temper.loses;
    temper = Temper{};
    for (auto& [index, channel] : channels_) {
        if (!channel.hangs || channel.queue != queue) continue;
        channel.hangs = false;
        for (auto& go_on : std::exchange(channel.hanging, {})) {
            if (!lost) at(soon(temper), std::move(go_on));
        }
    }
}

inline PublishResult World::publish(ChannelIndex index, const core::Publication& publication) {
    const auto found = channels_.find(index);
    if (found == channels_.end()) throw Broken("a channel is published to that is not open: 504");
    Channel& channel = found->second;
    const core::DeliveryTag tag = std::stoull(std::string{publication.message.body});
    const auto letter = unacked_.find(tag);
    if (letter == unacked_.end()) throw Broken("published what is not there");
    const std::string name{publication.routing_key};
    const bool detour = core::looks_like_detour(name);
    const bool parked =
        core::find(publication.message.properties.header_table(), core::header::parked_reason) != nullptr;
    if (letter->second.no_death && !parked) throw Broken("a message that nothing is known of went on as somebody's");
    if (!detour) {
        auto& longest = longest_[letter->second.queue];
        longest = std::max(longest, now.steady - letter->second.came);
        ++published_[letter->second.queue];
    }
    const PublishSeq seq = ++channel.last;
    const std::uint64_t generation = channel.generation;
    Temper& temper = temper_of_target(name);
    auto go_on = [this, index, generation, seq, tag, id = letter->second.id, name] {
        answer(index, generation, seq, tag, id, name);
    };
    if (temper.closes) {
        at(soon(temper), [this, index, generation, name] {
            const auto open = channels_.find(index);
            if (open == channels_.end() || open->second.generation != generation) return;
            channels_.erase(open);
            relay_.on_publishing_closed(index, 404, "NOT_FOUND - no exchange '" + name + "' in vhost '/'", now);
        });
        return PublishResult::sent;
    }
    if (temper.silent || !generator_.chance(temper.answers)) {
        channel.hangs = true;
        channel.queue = name.starts_with("q") ? name.substr(0, name.find('.')) : name;
    }
    if (channel.hangs) {
        channel.hanging.push_back(std::move(go_on));
    } else {
        temper.busy_until = std::max(temper.busy_until, now.steady) + temper.each;
        at(temper.busy_until - now.steady + soon(temper), std::move(go_on));
    }
    return PublishResult::sent;
}

/// The queue takes it, or not.
inline void World::answer(ChannelIndex index, std::uint64_t generation, PublishSeq seq, core::DeliveryTag tag, int id,
                          const std::string& name) {
    const Temper& temper = temper_of_target(name);
    if (temper.full || generator_.chance(temper.nacks)) return confirm(index, generation, seq, false);
    const auto known = channels_.find(index);
    const bool counts_for_it = known != channels_.end() && known->second.generation == generation;
    const auto letter = unacked_.find(tag);
    if (core::looks_like_detour(name)) {
        if (letter == unacked_.end()) return;
        Letter again = letter->second;
        again.detoured = true;
        ++again.rounds;
        Milliseconds delay{2'000};
        if (name.ends_with("30s")) delay = Milliseconds{30'000};
        if (name.ends_with("5m")) delay = Milliseconds{300'000};
        ++on_detour_;
        at(delay, [this, again]() mutable {
            --on_detour_;
            again.came = now.steady;
            error_queue_.push_back(again);
        });
    } else if (taken_.emplace(id, 0).second) {
        ++arrived_[name];
    } else {
        ++second_copies_;
    }
    if (counts_for_it) confirmed_.insert(tag);
    confirm(index, generation, seq, true);
}

inline void World::confirm(ChannelIndex index, std::uint64_t generation, PublishSeq seq, bool acked) {
    const auto found = channels_.find(index);
    if (found == channels_.end() || found->second.generation != generation) return;
    relay_.on_confirm(index, seq, false, acked, now);
}

inline void World::ack(core::DeliveryTag tag, bool multiple) {
    const auto last = unacked_.upper_bound(tag);
    for (auto at = multiple ? unacked_.begin() : unacked_.find(tag); at != last;) {
        if (confirmed_.erase(at->first) == 0) throw Broken("acked what was not confirmed");
        at = unacked_.erase(at);
    }
}

inline void World::requeue(core::DeliveryTag tag) {
    const auto found = unacked_.find(tag);
    if (found == unacked_.end()) throw Broken("nack of an unknown tag");
    error_queue_.push_front(std::move(found->second));
    unacked_.erase(found);
}

inline void World::declare(std::string_view key, const core::Topology&) {
    ++declares;
    const std::string name{key.substr(key.find('\n') + 1)};
    const Temper& temper = temper_of_target(name);
    const bool hangs = temper.hangs_declare;
    at(hangs ? declare_timeout : soon(temper), [this, hangs, text = std::string{key}] {
        relay_.on_declared(text, hangs ? DeclareOutcome::unanswered : DeclareOutcome::ready, "", now);
    });
}

inline void World::check(std::string_view queue) {
    const Temper& temper = tempers_[std::string{queue}];
    const bool hangs = temper.hangs_check;
    at(hangs ? declare_timeout : soon(temper), [this, hangs, name = std::string{queue}] {
        relay_.on_checked(name, hangs ? CheckOutcome::refused : CheckOutcome::exists, now);
    });
}

inline void World::deliver_one(Letter letter) {
    const core::DeliveryTag tag = next_tag_++;
    letter.delivered = now.steady;
    const std::string body = std::to_string(tag);
    const std::string queue = letter.queue;
    const bool detoured = letter.detoured;
    const bool no_death = letter.no_death;
    unacked_[tag] = std::move(letter);
    const core::Field entry[] = {
        {"queue", core::Value::of_longstr(detoured ? std::string_view{"retryd.detour.2s"} : std::string_view{queue})},
        {"reason", core::Value::of_longstr(detoured ? "expired" : "rejected")},
        {"count", core::Value::of_long(1)}};
    const core::Value entries[] = {{core::Kind::table, core::Table{entry, 3}}};
    const core::Field headers[] = {{"x-death", {core::Kind::array, core::Array{entries, 1}}},
                                   {"retryd-queue", core::Value::of_longstr(queue)},
                                   {"retryd-attempt", core::Value::of_long(1)},
                                   {"retryd-reason", core::Value::of_longstr("rejected")}};
    const core::Field parked_detour[] = {headers[0], {"retryd-parked-reason", core::Value::of_longstr("no-death")}};
    core::Message message;
    message.properties.headers = core::Table{headers, detoured ? 4U : 1U};
    if (no_death) message.properties.headers = core::Table{parked_detour, detoured ? 2U : 0U};
    message.body = body;
    relay_.on_delivery({tag, false, message}, now);
}

inline void World::deliver() {
    while (!error_queue_.empty() && unacked_.size() < limits_.prefetch * consumers_) {
        Letter letter = std::move(error_queue_.front());
        error_queue_.pop_front();
        deliver_one(std::move(letter));
    }
}

/// As BrokerSession::consume_more.
inline void World::consume_more() {
    if (now.steady < more_due_ || consumers_ > most_further_consumers) return;
    if (3 * relay_.unacked_for_long() < limits_.prefetch * consumers_) return;
    more_due_ = now.steady + Milliseconds{500};
    ++consumers_;
}

inline void World::step(Milliseconds time) {
    const SteadyTime end = now.steady + time;
    while (!events_.empty() && events_.begin()->first <= end) {
        const auto event = events_.extract(events_.begin());
        const Milliseconds passed = std::max(Milliseconds{}, event.key() - now.steady);
        now.steady += passed;
        now.wall += passed;
        event.mapped()();
    }
    now.wall += end - now.steady;
    now.steady = end;
    deliver();
    consume_more();
    relay_.on_tick(now);
    relay_.flush(now);
}

inline Milliseconds World::oldest(const std::string& queue) const {
    Milliseconds oldest{};
    const auto see = [&](const Letter& letter) {
        if (letter.queue == queue) oldest = std::max(oldest, now.steady - letter.came);
    };
    for (const Letter& letter : error_queue_)
        see(letter);
    for (const auto& [tag, letter] : unacked_)
        see(letter);
    return oldest;
}

}  // namespace retryd::relay::timed
