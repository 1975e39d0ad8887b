// What a session does without a permission, on a broker that has all that it needs already.
#include "amqp/session_topology.h"

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "amqp/broker_session.h"
#include "amqp/error.h"
#include "amqp/refusal.h"
#include "core/reply_code.h"
#include "relay/relay_fixture.h"
#include "support/catch.h"

namespace retryd::amqp::session_topology_test {
namespace {

using core::Milliseconds;
using Lines = std::vector<std::string>;

/// Has everything, and may let nothing be declared.
class Broker : public TopologyCommands {
  public:
    bool lets_declare = true;
    std::string never_lets;  // declare that one
    std::string has_other;   // one of that name, with other arguments
    std::string is_silent;   // that one answers nothing
    std::string is_deleted;  // before that one is bound

    void open_channel(Channel on) override { asked_.push_back({on, Kind::open}); }
    void close_channel(Channel) override {}
    void declare_exchange(Channel on, const core::ExchangeSpec& exchange) override { declare(on, exchange.name); }
    void declare_queue(Channel on, const core::QueueSpec& queue) override { declare(on, queue.name); }
    void bind(Channel on, const core::BindingSpec& binding) override {
        asked_.push_back({on, Kind::bind, binding.queue});
    }
    void check_exchange(Channel on, const std::string&) override { asked_.push_back({on, Kind::other}); }
    void check_queue(Channel on, const std::string&) override { asked_.push_back({on, Kind::other}); }
    void delete_exchange(Channel, const std::string&) override {}
    void delete_queue(Channel, const std::string&, bool) override {}

    void answer_all(Declarer& declarer) {
        while (!asked_.empty()) {
            const Asked asked = asked_.front();
            asked_.pop_front();
            if (asked.kind == Kind::open) {
                declarer.on_channel_open(asked.on);
            } else if (asked.kind == Kind::declare && asked.name == is_silent) {
                continue;
            } else if (asked.kind == Kind::bind && asked.name == is_deleted) {
                const std::string text = "NOT_FOUND - no queue '" + asked.name + "' in vhost '/'";
                declarer.on_channel_closed({asked.on, core::reply_code::not_found, text, 0});
            } else if (asked.kind == Kind::declare && asked.name == has_other) {
                const std::string text = "PRECONDITION_FAILED - inequivalent arg 'type' for exchange '" + asked.name;
                declarer.on_channel_closed({asked.on, core::reply_code::precondition_failed, text, 0});
            } else if (asked.kind == Kind::declare && (!lets_declare || asked.name == never_lets)) {
                const std::string text = "ACCESS_REFUSED - configure access to '" + asked.name + "' refused for user";
                declarer.on_channel_closed({asked.on, core::reply_code::access_refused, text, 0});
            } else {
                declarer.on_declared(asked.on, {});
            }
        }
    }

  private:
    enum class Kind { open, declare, bind, other };
    struct Asked {
        Channel on;
        Kind kind;
        std::string name = {};
    };
    void declare(Channel on, const std::string& name) { asked_.push_back({on, Kind::declare, name}); }

    std::deque<Asked> asked_;
};

struct Observer : BrokerSessionObserver {
    Lines lines;

    void accepted(std::string_view note) override { lines.emplace_back(note); }
    void declares_again(std::string_view note) override { lines.emplace_back(note); }
    void unanswered(std::string_view) override {}
    void consuming() override {}
    void error_queue_silent(std::string_view) override {}
    void error_queue_answers() override {}
    void error_queue_not_asked(std::string_view) override {}
    void error_queue_asked() override {}
    void delivery_stuck(std::string_view) override {}
    void delivery_free() override {}
    void blocked(std::string_view) override {}
    void unblocked() override {}
    void trial_over() override {}
    void source_trouble(std::string_view, SourceTrouble, std::string_view) override {}
    void source_works(std::string_view, SourceTrouble, std::string_view) override {}
};

/// A connection, and what the one before has left.
struct Session {
    Broker& broker;
    Observer observer;
    Declarer declarer{broker, 2, 9};
    relay::Fixture flow;
    core::Now now = flow.now;
    bool ours = false;
    SessionTopology topology;

    Session(Broker& with, ForbiddenDeclares& forbidden)
        : broker(with),
          topology({declarer, observer, forbidden, {}, [] {}, [](bool) {}, [this](bool is) { ours = is; }},
                   std::make_shared<const config::Settings>()) {
        topology.begin_turn(now);
        topology.start(flow.relay);
        broker.answer_all(declarer);
        topology.consuming();
    }
    static std::string catch_all() { return config::Settings().policy.catch_all; }
    void may_declare(bool is) {
        config::Settings settings;
        settings.declare = is;
        topology.adopt(std::make_shared<const config::Settings>(std::move(settings)));
    }
    /// What is said of all that is declared again each minute, and of a rung.
    Lines after_a_minute(bool rung_is_needed = true) {
        now.steady += Milliseconds{60'000};
        declarer.on_tick(now.steady);
        topology.begin_turn(now);
        topology.look_again();
        if (rung_is_needed) topology.declare(rung, {core::ExchangeSpec{rung, "fanout", {}}});
        broker.answer_all(declarer);
        declarer.on_tick(now.steady);
        return std::exchange(observer.lines, {});
    }
    Lines after_two_minutes() {
        Lines lines = after_a_minute();
        const Lines more = after_a_minute();
        lines.insert(lines.end(), more.begin(), more.end());
        return lines;
    }

    static constexpr const char* rung = "rung";
};

bool says(const std::string& line, const std::string& text) {
    return line.find(text) != std::string::npos;
}

bool is_back(const Lines& lines) {
    return lines.size() == 1 && says(lines[0], "the permission is back");
}

}  // namespace

TEST_CASE("session topology: what may not be declared is used as it is and told once, and once when it can be again") {
    Broker broker;
    ForbiddenDeclares forbidden;
    Session s(broker, forbidden);
    CHECK(s.after_a_minute().empty());
    CHECK(s.ours);
    for (int loss = 0; loss < 2; ++loss) {
        broker.lets_declare = false;
        const Lines lost = s.after_a_minute();
        REQUIRE(lost.size() == 1);  // of the error exchange, the error queue and the catch-all
        CHECK(says(lost[0], "ACCESS_REFUSED"));
        CHECK(says(lost[0], "Meanwhile it is used as it is there, and so is what else may not be declared"));
        CHECK(says(lost[0], "retryd doctor --permissions"));
        CHECK_FALSE(s.ours);
        CHECK(s.after_two_minutes().empty());
        broker.lets_declare = true;
        broker.never_lets = s.catch_all();
        CHECK(s.after_two_minutes().empty());
        broker.never_lets = "";
        CHECK(is_back(s.after_two_minutes()));
        CHECK(s.ours);
        CHECK(s.after_two_minutes().empty());
    }
}

TEST_CASE("session topology: a permission that is missing from one connection to the next is told once, and its end") {
    Broker broker;
    broker.lets_declare = false;
    ForbiddenDeclares forbidden;
    {
        Session first(broker, forbidden);
        CHECK(first.observer.lines.size() == 1);
    }
    {
        Session second(broker, forbidden);
        CHECK(second.after_two_minutes().empty());
    }
    broker.lets_declare = true;
    {
        Session too_short(broker, forbidden);
        CHECK(too_short.after_a_minute().empty());
    }
    Session last(broker, forbidden);
    CHECK(last.after_a_minute().empty());
    CHECK(is_back(last.after_a_minute()));
    CHECK(last.after_two_minutes().empty());
}

TEST_CASE(
    "session topology: the permission is back also where the last that lacked it is refused otherwise, or silent") {
    Broker broker;
    broker.never_lets = Session::rung;
    ForbiddenDeclares forbidden;
    Session s(broker, forbidden);
    CHECK(s.after_a_minute().size() == 1);
    CHECK(s.after_two_minutes().empty());
    broker.never_lets = "";
    SECTION("it has other arguments") {
        broker.has_other = Session::rung;
    }
    SECTION("it does not answer") {
        broker.is_silent = Session::rung;
    }
    CHECK(is_back(s.after_two_minutes()));
    CHECK(s.after_two_minutes().empty());
}

TEST_CASE("session topology: with declare: false nothing is asked for, so it is not known that a permission is back") {
    Broker broker;
    broker.lets_declare = false;
    ForbiddenDeclares forbidden;
    Session s(broker, forbidden);
    CHECK(s.after_a_minute().size() == 1);
    s.may_declare(false);
    CHECK(s.after_two_minutes().empty());
    s.may_declare(true);
    CHECK(s.after_two_minutes().empty());
    broker.lets_declare = true;
    CHECK(is_back(s.after_two_minutes()));
}

TEST_CASE("session topology: what was refused and is not needed any more does not count as permitted") {
    Broker broker;
    broker.never_lets = Session::rung;
    ForbiddenDeclares forbidden;
    const bool one_connection = GENERATE(true, false);
    CAPTURE(one_connection);
    auto s = std::make_unique<Session>(broker, forbidden);
    CHECK(s->after_a_minute().size() == 1);
    if (!one_connection) s = std::make_unique<Session>(broker, forbidden);
    CHECK(s->after_a_minute(false).empty());
    const Lines lines = s->after_a_minute(false);
    REQUIRE(lines.size() == 1);
    CHECK_FALSE(says(lines[0], "the permission is back"));
    CHECK(says(lines[0], "Nothing needs 'rung' now: whether it may be declared again shows when it is needed"));
    CHECK(s->after_a_minute(false).empty());
    const Lines again = s->after_a_minute();
    REQUIRE(again.size() == 1);
    CHECK(says(again[0], "ACCESS_REFUSED"));
    broker.never_lets = "";
    CHECK(is_back(s->after_two_minutes()));
}

TEST_CASE("session topology: while the broker is blocked nothing is known of a permission") {
    Broker broker;
    broker.lets_declare = false;
    ForbiddenDeclares forbidden;
    Session s(broker, forbidden);
    s.observer.lines.clear();
    s.topology.blocked(true);
    broker.lets_declare = true;
    CHECK(s.after_two_minutes().empty());
    s.topology.blocked(false);
    CHECK(s.after_a_minute().empty());
    CHECK(is_back(s.after_a_minute()));
}

TEST_CASE("session topology: a queue that is deleted before it is bound is not put down to declare: false") {
    Broker broker;
    broker.is_deleted = config::Settings().policy.error_queue;
    ForbiddenDeclares forbidden;
    try {
        const Session s(broker, forbidden);
        FAIL("the session goes on without its error queue");
    } catch (const Error& error) {
        CHECK(error.kind() == Error::Kind::deleted);
        CHECK_THAT(error.what(), Catch::Contains("does not exist, although it was there a moment ago") &&
                                     !Catch::Contains("declare: false"));
        CHECK_THAT(remedy(error), Catch::Contains("declares it anew") && Catch::Contains("who deletes it"));
        CHECK_THAT(consequence(error.kind()), Catch::Contains("what lay in it is gone"));
    }
}

}  // namespace retryd::amqp::session_topology_test
