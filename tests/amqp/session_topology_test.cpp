// What a session does without a permission, on a broker that has all that it needs already.
#include "amqp/session_topology.h"

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "amqp/broker_session.h"
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

    void open_channel(Channel on) override { asked_.push_back({on, Kind::open}); }
    void close_channel(Channel) override {}
    void declare_exchange(Channel on, const core::ExchangeSpec& exchange) override { declare(on, exchange.name); }
    void declare_queue(Channel on, const core::QueueSpec& queue) override { declare(on, queue.name); }
    void bind(Channel on, const core::BindingSpec&) override { asked_.push_back({on, Kind::other}); }
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
            } else if (asked.kind == Kind::declare && (!lets_declare || asked.name == never_lets)) {
                const std::string text = "ACCESS_REFUSED - configure access to '" + asked.name + "' refused for user";
                declarer.on_channel_closed({asked.on, core::reply_code::access_refused, text, 0});
            } else {
                declarer.on_declared(asked.on, {});
            }
        }
    }

  private:
    enum class Kind { open, declare, other };
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
    void delivery_stuck(std::string_view) override {}
    void delivery_free() override {}
    void blocked(std::string_view) override {}
    void unblocked() override {}
    void trial_over() override {}
    void source_trouble(std::string_view, SourceTrouble, std::string_view) override {}
    void source_works(std::string_view, SourceTrouble, std::string_view) override {}
};

struct Session {
    Broker broker;
    Observer observer;
    Declarer declarer{broker, 2, 9};
    relay::Fixture flow;
    core::Now now = flow.now;
    bool ours = false;
    SessionTopology topology{{declarer, observer, {}, [] {}, [](bool) {}, [this](bool is) { ours = is; }},
                             std::make_shared<const config::Settings>()};

    Session() {
        topology.begin_turn(now);
        topology.start(flow.relay);
        broker.answer_all(declarer);
        topology.consuming();
    }
    static std::string catch_all() { return config::Settings().policy.catch_all; }
    /// What is said of all that is declared again each minute.
    Lines after_a_minute() {
        now.steady += Milliseconds{60'000};
        topology.begin_turn(now);
        topology.look_again();
        broker.answer_all(declarer);
        return std::exchange(observer.lines, {});
    }
};

bool says(const std::string& line, const std::string& text) {
    return line.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("session topology: what may not be declared is used as it is and told once, and once when it can be again") {
    Session s;
    CHECK(s.after_a_minute().empty());
    CHECK(s.ours);
    for (int loss = 0; loss < 2; ++loss) {
        s.broker.lets_declare = false;
        const Lines lost = s.after_a_minute();
        REQUIRE(lost.size() == 1);  // of the error exchange, the error queue and the catch-all
        CHECK(says(lost[0], "ACCESS_REFUSED"));
        CHECK(says(lost[0], "Meanwhile it is used as it is there, and so is what else may not be declared"));
        CHECK(says(lost[0], "retryd doctor --permissions"));
        CHECK_FALSE(s.ours);
        CHECK(s.after_a_minute().empty());
        s.broker.lets_declare = true;
        s.broker.never_lets = s.catch_all();
        CHECK(s.after_a_minute().empty());
        CHECK(s.after_a_minute().empty());
        s.broker.never_lets = "";
        const Lines back = s.after_a_minute();
        REQUIRE(back.size() == 1);
        CHECK(says(back[0], "the permission is back"));
        CHECK(s.ours);
        CHECK(s.after_a_minute().empty());
    }
}

}  // namespace retryd::amqp::session_topology_test
