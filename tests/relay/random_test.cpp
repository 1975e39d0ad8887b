// Whatever happens in whatever order, the promise holds: a message is in the error queue, or somewhere else where the
// broker has confirmed it, never nowhere; and once the trouble is over everything arrives.
//
// A run is a number: what fails is told with it, and happens again. RETRYD_RANDOM_RUNS=20000 for more of them.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>

#include "relay/random_broker.h"
#include "support/catch.h"

namespace retryd::relay::random::random_test {
namespace {

using core::Milliseconds;

class Silent : public Reporter {
  public:
    void settled(const Settled&) override {}
    void dead_lettered(std::string_view, std::string_view) override {}
    void stuck(std::string_view, std::string_view, Milliseconds) override {}
    void parked_before(std::string_view) override {}
    void unroutable(std::string_view, std::string_view) override {}
    void silent(const TargetName&) override {}
    void requeued(const TargetName&, RequeueCause, Milliseconds) override {}
    void refused(TargetRole, std::string_view, std::string_view) override {}
    void healed(TargetRole, std::string_view) override {}
    void not_needed(TargetRole, std::string_view) override {}
};

core::Ladder shared_ladder() {
    core::Ladder ladder{"shared", {Milliseconds{1000}, Milliseconds{2000}}};
    ladder.return_path = core::ReturnPath::headers;
    return ladder;
}

core::Policy policy(int variant) {
    core::Policy p;
    core::Ladder ladder{"own", {Milliseconds{5000}, Milliseconds{30'000}}};
    if (variant == 1) ladder.steps = {Milliseconds{5000}};
    if (variant == 2) ladder.queue_type = core::QueueType::classic;  // the same names with other arguments
    core::Entry email{"email", ladder, {"{queue}.parked"}};
    email.on.maxlen = core::Action::drop;
    p.entries.push_back(email);
    if (variant != 1) p.entries.push_back({"web.*", {"short", {Milliseconds{1000}}}, {"{queue}.parked"}});
    p.entries.push_back({"shop", shared_ladder(), {"{queue}.parked"}});
    p.entries.push_back({"shop.*", shared_ladder(), {"", "team.dlx", std::nullopt}});
    p.entries.push_back({"team", ladder, {"", "team.dlx", "dead"}});
    p.error_bindings = {{"legacy.dlx", "#"}};
    return p;
}

const std::vector<std::string>& work_queues() {
    static const std::vector<std::string> names{"email",  "web.a",     "web.gone", "shop",     "shop.1",
                                                "shop.2", "shop.gone", "team",     "nobody's", "retryd.parked"};
    return names;
}

/// What can be deleted, refused, forbidden or full.
const std::vector<std::string>& things() {
    static const std::vector<std::string> names{
        "email.retry.5s", "email.retry.30s", "web.a.retry.1s",      "retryd.shared.1s", "retryd.shared.2s",
        "retryd.parked",  "email.parked",    "web.a.parked",        "graveyard",        "team.dlx",
        "retryd.return",  "legacy.dlx",      "team.retry.5s",       "shop.parked",      "web.a",
        "shop",           "shop.1",          "email.retry.5s.high", "retryd.detour.2s"};
    return names;
}

class World {
  public:
    explicit World(std::uint64_t seed) : generator_(seed) {
        features_.priority_blocks_expiry = generator_.chance(30);
        vhost_.declare = !generator_.chance(10);
        vhost_.queues = {"email", "web.a", "shop", "shop.1", "shop.2", "team", "retryd.parked", "graveyard"};
        vhost_.exchanges = {"team.dlx", "legacy.dlx"};
        flawed_ = generator_.chance(50);
        begin_session();
    }

    /// Something happens, good or bad.
    void live();
    /// No more trouble from the broker: what can arrive has to.
    void calm();

  private:
    void begin_session();
    void end_session(const Lost* lost);
    void turn();
    void happen();
    void trouble();
    void make_message();
    void mutate(std::set<std::string>& names);
    void reload();
    void leave();
    void heal();
    void check();
    bool done() const;
    template <class Action>
    void guarded(const Action& action);

    Generator generator_;
    Vhost vhost_;
    core::BrokerFeatures features_;
    core::Now now_{core::WallTime{Milliseconds{1'800'000'000'000}}, core::SteadyTime{Milliseconds{1'000'000}}};
    PoisonDetector poison_;
    Silent reporter_;
    std::shared_ptr<const core::Policy> policy_ = std::make_shared<const core::Policy>(policy(0));
    std::shared_ptr<const core::Policy> next_policy_;
    std::unique_ptr<RandomBroker> broker_;
    std::unique_ptr<Relay> relay_;
    std::optional<Lost> lost_;
    bool flawed_ = false;
    bool leaving_ = false;
    int sessions_ = 0;
};

void World::begin_session() {
    if (next_policy_) policy_ = std::move(next_policy_);
    next_policy_.reset();
    leaving_ = false;
    broker_ = std::make_unique<RandomBroker>(vhost_, generator_, now_, poison_, ++sessions_);
    const auto random = [this] { return static_cast<double>(generator_.below(1000)) / 1000.0; };
    constexpr std::size_t publishing_channels = 16;
    relay_ = std::make_unique<Relay>(
        policy_, SessionInfo{features_, "retryd", random, vhost_.declare, publishing_channels, core::test::proof_keys},
        *broker_, reporter_, poison_);
    vhost_.queues.insert("retryd.parked");  // declared before anything is consumed
    broker_->session_relay = relay_.get();
    relay_->start();
}

void World::end_session(const Lost* lost) {
    if (lost != nullptr) relay_->on_connection_lost({.provoked = lost->provoked});
    broker_->end(lost);
    const Milliseconds pause{500 + static_cast<int>(generator_.below(5000))};
    now_.steady += pause;
    now_.wall += pause;
    begin_session();
}

template <class Action>
void World::guarded(const Action& action) {
    try {
        action();
    } catch (const Lost& lost) {
        end_session(&lost);
    }
}

void World::make_message() {
    constexpr std::array flaws{Flaw::large, Flaw::unreadable, Flaw::closes_channel, Flaw::ends_connection,
                               Flaw::breaks_sending};
    constexpr std::array reasons{"rejected", "rejected", "rejected", "expired", "maxlen", "delivery_limit", "odd"};
    Letter letter;
    letter.id = vhost_.next_id++;
    if (flawed_ && generator_.chance(8)) letter.flaw = flaws[generator_.below(flaws.size())];
    letter.shape = generator_.chance(80) ? Shape::died : generator_.chance(70) ? Shape::undelivered : Shape::no_death;
    letter.queue = work_queues()[generator_.below(work_queues().size())];
    letter.reason = reasons[generator_.below(reasons.size())];
    letter.attempt = static_cast<std::int64_t>(generator_.below(4));
    if (letter.shape == Shape::undelivered) letter.attempt += 1;
    letter.priority = generator_.chance(20) ? 9 : 0;
    letter.parked_before = generator_.chance(3);
    vhost_.fates[letter.id].flawed = letter.flaw != Flaw::none;
    vhost_.error_queue.push_back(std::move(letter));
}

void World::mutate(std::set<std::string>& names) {
    const std::string& name = things()[generator_.below(things().size())];
    if (names.erase(name) == 0) names.insert(name);
}

void World::reload() {
    if (leaving_) return;
    next_policy_ = std::make_shared<const core::Policy>(policy(static_cast<int>(generator_.below(3))));
    relay_->prepare_to_adopt();
}

void World::leave() {
    leaving_ = true;
    relay_->stop();
}

void World::trouble() {
    switch (generator_.below(15)) {
        case 0:
            return mutate(vhost_.queues);
        case 1:
            return mutate(vhost_.exchanges);
        case 2:
            return mutate(vhost_.refused);
        case 3:
            return mutate(vhost_.forbidden);
        case 4:
            return mutate(vhost_.full);
        case 5:
            vhost_.bound.clear();
            return;
        case 6:
            vhost_.nacks = generator_.chance(50) ? 0 : generator_.below(60);
            return;
        case 7:
            broker_->blocked = true;
            return relay_->pause();
        case 8:
            broker_->socket_full = true;
            return;
        case 9:
            if (generator_.chance(30)) throw Lost{generator_.chance(30)};
            return;
        case 10:
            broker_->breaks_while_sending = generator_.chance(30);
            return;
        case 11:
            return reload();
        case 12:
            if (generator_.chance(20)) leave();
            return;
        case 13:
            return mutate(vhost_.silent);
        default:
            if (generator_.chance(20))
                broker_->close_any_channel(*relay_, 404, "NOT_FOUND - no exchange 'retryd.shared.1s' in vhost '/'");
    }
}

void World::happen() {
    switch (generator_.below(12)) {
        case 0:
        case 1:
            return make_message();
        case 2:
        case 3:
        case 4:
            if (broker_->may_deliver() && !leaving_) broker_->deliver_next(*relay_);
            return;
        case 5:
            return broker_->answer_one(*relay_);
        case 6:
        case 7:
            return broker_->process_one(*relay_);
        case 8:
        case 9:
            return broker_->confirm_some(*relay_);
        case 10:
            if (broker_->blocked && generator_.chance(40)) {
                broker_->blocked = false;
                relay_->resume(now_);
            }
            broker_->socket_full = broker_->socket_full && !generator_.chance(50);
            return;
        default:
            if (generator_.chance(30)) trouble();
    }
}

/// As a session turns.
void World::turn() {
    std::erase_if(vhost_.detour, [&](auto& waiting) {
        if (waiting.first > now_.steady) return false;
        vhost_.error_queue.push_back(std::move(waiting.second));
        return true;
    });
    if (relay_->paused() && !broker_->blocked && !broker_->socket_full) relay_->resume(now_);
    relay_->on_tick(now_);
    relay_->flush(now_);
    if (leaving_) {
        if (relay_->in_flight() > relay_->in_flight_in_silence()) return;
        relay_->flush_all();
        return end_session(nullptr);
    }
    if (!next_policy_ || relay_->in_flight() > relay_->in_flight_in_silence()) return;
    policy_ = std::move(next_policy_);
    next_policy_.reset();
    broker_->answers_allowed += 2;
    relay_->adopt(policy_, now_);
}

void World::check() {
    if (relay_->in_flight() != broker_->unconfirmed()) throw Broken("not all that is in flight is known, or more");
    if (relay_->waiting_bytes() > 0 && broker_->unacked() == 0) throw Broken("more is held than was delivered");
    const auto due = relay_->next_tick();
    if (due && *due <= now_.steady) throw Broken("the loop turns hot: what is due was not done");
}

void World::live() {
    constexpr std::array<int, 6> passes{0, 0, 5, 200, 1500, 61'000};
    const Milliseconds time{passes[generator_.below(passes.size())]};
    now_.steady += time;
    now_.wall += time;
    guarded([&] { happen(); });
    guarded([&] { turn(); });
    guarded([&] { turn(); });  // what a turn has begun, the next finds
    check();
}

void World::heal() {
    vhost_.refused.clear();
    vhost_.forbidden.clear();
    vhost_.full.clear();
    vhost_.silent.clear();
    vhost_.nacks = 0;
    vhost_.exchanges.insert({"team.dlx", "legacy.dlx", "retryd.return", "retryd.shared.1s", "retryd.shared.2s"});
    vhost_.queues.insert({"graveyard", "retryd.parked"});
    if (!vhost_.declare) vhost_.queues.insert({"retryd.detour.2s", "retryd.detour.30s", "retryd.detour.5m"});
    if (!vhost_.declare) {
        for (const std::string& name : things())
            vhost_.queues.insert(name);
        vhost_.queues.insert({"web.a.retry.1s", "team.retry.30s", "email.retry.30s.high", "web.a.retry.1s.high",
                              "team.retry.5s.high", "team.retry.30s.high"});
    }
    broker_->blocked = false;
    broker_->socket_full = false;
    broker_->breaks_while_sending = false;
}

/// Where nothing may be declared, what cannot be published stays in the error queue, as promised.
bool World::done() const {
    return std::all_of(vhost_.fates.begin(), vhost_.fates.end(), [&](const auto& known) {
        const Fate& fate = known.second;
        return fate.settled() || (!vhost_.declare && (fate.flawed || fate.broke_alone > 0));
    });
}

void World::calm() {
    for (int i = 0; i < 3000 && !done(); ++i) {
        heal();
        guarded([&] {
            while (broker_->may_deliver() && !leaving_)
                broker_->deliver_next(*relay_);
            for (int j = 0; j < 30; ++j) {
                broker_->answer_one(*relay_);
                broker_->process_one(*relay_);
                broker_->confirm_some(*relay_);
                turn();
            }
        });
        guarded([&] { turn(); });
        guarded([&] { turn(); });
        check();
        now_.steady += Milliseconds{500};
        now_.wall += Milliseconds{500};
    }
    if (!done()) throw Broken("what is left does not arrive");
}

void live_through(std::uint64_t seed) {
    World world(seed);
    for (int i = 0; i < 300; ++i)
        world.live();
    world.calm();
}

}  // namespace

TEST_CASE("whatever happens in whatever order: nothing is lost, nothing is acked that has not arrived, all arrives") {
    const char* wanted = std::getenv("RETRYD_RANDOM_RUNS");
    const std::uint64_t runs = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 300;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        try {
            live_through(seed);
        } catch (const Broken& broken) {
            FAIL("run " << seed << ": " << broken.what());
        }
    }
    CHECK(runs > 0);
}

}  // namespace retryd::relay::random::random_test
