#include "amqp/declarer.h"

#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"

namespace retryd::amqp::declarer_test {

using amqp::Declarer;
using Lines = std::vector<std::string>;
using Result = Declarer::Result;

namespace {

constexpr amqp::Channel channel = 2;

/// Writes the commands down; the test is the broker that answers them.
class Commands : public amqp::TopologyCommands {
  public:
    Lines lines;
    core::QueueSpec last_declared;

    void open_channel(amqp::Channel on) override { lines.push_back("open " + std::to_string(on)); }
    void declare_exchange(amqp::Channel, const core::ExchangeSpec& exchange) override {
        lines.push_back(exchange.type + ' ' + exchange.name);
    }
    void declare_queue(amqp::Channel, const core::QueueSpec& queue) override {
        std::string line = "queue " + queue.name;
        for (const auto& argument : queue.arguments)
            line += ' ' + argument.first;
        lines.push_back(line);
        last_declared = queue;
    }
    void bind(amqp::Channel, const core::BindingSpec& binding) override {
        lines.push_back("bind " + binding.queue + " to " + binding.exchange);
    }
    void check_exchange(amqp::Channel, const std::string& name) override { lines.push_back("check exchange " + name); }
    void check_queue(amqp::Channel, const std::string& queue) override { lines.push_back("check " + queue); }
    void delete_exchange(amqp::Channel, const std::string& name) override {
        lines.push_back("delete exchange " + name);
    }
    void delete_queue(amqp::Channel, const std::string& queue, bool only_if_idle) override {
        lines.push_back("delete " + queue + (only_if_idle ? " if idle" : ""));
    }
};

struct Fixture {
    Commands commands;
    Declarer declarer{commands, channel};
    std::vector<Declarer::Outcome> outcomes;

    void submit(Declarer::Step step) {
        declarer.submit(std::move(step), [this](const Declarer::Outcome& outcome) { outcomes.push_back(outcome); });
    }
    void open() { declarer.on_channel_open(channel); }
    void answer(const amqp::QueueCounts& counts = {}) { declarer.on_declared(channel, counts); }
    void refuse(int code, const std::string& text) { declarer.on_channel_closed({channel, code, text, 0}); }
    /// The commands since the last call.
    Lines sent() { return std::exchange(commands.lines, {}); }
};

core::QueueSpec plain(const std::string& name) {
    return {name, {{"x-queue-type", "quorum"}}, {}};
}

core::QueueSpec with_limit(const std::string& name) {
    return {name,
            {{"x-queue-type", "quorum"}, {"x-delivery-limit", std::int64_t{1'000'000}}},
            {"x-delivery-limit"},
            core::QueueSpec::Older{"x-delivery-limit", -1, true}};
}

const std::string no_limit_there =
    "PRECONDITION_FAILED - inequivalent arg 'x-delivery-limit' for queue 'q' in vhost '/': received the value "
    "'1000000' of type 'long' but current is none";
const std::string other_limit_there =
    "PRECONDITION_FAILED - inequivalent arg 'x-delivery-limit' for queue 'q' in vhost '/': received none but current "
    "is "
    "the value '50' of type 'long'";
const std::string no_end_there =
    "PRECONDITION_FAILED - inequivalent arg 'x-delivery-limit' for queue 'q' in vhost '/': received the value "
    "'1000000' "
    "of type 'long' but current is the value '-1' of type 'long'";
const std::string other_type_there =
    "PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': received 'quorum' but current "
    "is "
    "'classic'";

}  // namespace

TEST_CASE("declarer: opens its channel with the first step, and asks one thing at a time, in order") {
    Fixture f;
    CHECK(f.sent().empty());
    f.submit(core::ExchangeSpec{"errors", "fanout", {}});
    f.submit(plain("q"));
    f.submit(core::BindingSpec{"q", "errors", "", {}});
    f.submit(Declarer::CheckQueue{"work"});
    CHECK(f.sent() == Lines{"open 2"});
    f.open();
    CHECK(f.sent() == Lines{"fanout errors"});
    f.answer();
    CHECK(f.sent() == Lines{"queue q x-queue-type"});
    f.answer();
    CHECK(f.sent() == Lines{"bind q to errors"});
    f.answer();
    CHECK(f.sent() == Lines{"check work"});
    CHECK_FALSE(f.declarer.idle());
    f.answer();
    CHECK(f.sent().empty());
    CHECK(f.declarer.idle());
    REQUIRE(f.outcomes.size() == 4);
    for (const auto& outcome : f.outcomes) {
        CHECK(outcome.result == Result::done);
        CHECK(outcome.text.empty());
    }
}

TEST_CASE("declarer: a refusal is told, and the next step goes on over a new channel") {
    Fixture f;
    f.submit(plain("q"));
    f.submit(plain("r"));
    f.open();
    f.sent();
    f.refuse(406, other_type_there);
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].result == Result::refused);
    CHECK(f.outcomes[0].code == 406);
    CHECK(f.outcomes[0].text.find("queue 'q' is there already with another x-queue-type: classic instead of quorum") ==
          0);
    CHECK(f.sent() == Lines{"open 2"});
    f.open();
    CHECK(f.sent() == Lines{"queue r x-queue-type"});
    f.answer();
    REQUIRE(f.outcomes.size() == 2);
    CHECK(f.outcomes[1].result == Result::done);
}

TEST_CASE("declarer: after a refusal with nothing left to do the channel is opened by the next step only") {
    Fixture f;
    f.submit(plain("q"));
    f.open();
    f.refuse(403, "ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'retryd'");
    CHECK(f.outcomes[0].code == 403);
    f.sent();
    f.submit(plain("q"));
    CHECK(f.sent() == Lines{"open 2"});
}

TEST_CASE("declarer: a check that finds nothing is no refusal, one that is not allowed is") {
    Fixture f;
    f.submit(Declarer::CheckQueue{"work"});
    f.submit(Declarer::CheckQueue{"secret"});
    f.open();
    f.refuse(404, "NOT_FOUND - no queue 'work' in vhost '/'");
    f.open();
    f.refuse(403, "ACCESS_REFUSED - access to queue 'secret' in vhost '/' refused for user 'retryd'");
    REQUIRE(f.outcomes.size() == 2);
    CHECK(f.outcomes[0].result == Result::missing);
    CHECK(f.outcomes[0].text == "queue 'work' does not exist");
    CHECK(f.outcomes[1].result == Result::refused);
}

TEST_CASE("declarer: a queue that is there and cannot be reached is not taken for missing") {
    Fixture f;
    f.submit(Declarer::CheckQueue{"work"});
    f.open();
    f.refuse(404, "NOT_FOUND - home node 'rabbit@b' of durable queue 'work' in vhost '/' is down or inaccessible");
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].result == Result::refused);
}

TEST_CASE("declarer: a binding misses its queue, but is refused without its exchange") {
    Fixture f;
    f.submit(core::BindingSpec{"q", "errors", "", {}});
    f.submit(core::BindingSpec{"q", "nope", "#", {}});
    f.submit(core::BindingSpec{"q", "closed", "#", {}});
    f.open();
    f.refuse(404, "NOT_FOUND - no queue 'q' in vhost '/'");
    f.open();
    f.refuse(404, "NOT_FOUND - no exchange 'nope' in vhost '/'");
    f.open();
    f.refuse(403, "ACCESS_REFUSED - access to exchange 'closed' in vhost '/' refused for user 'retryd'");
    REQUIRE(f.outcomes.size() == 3);
    CHECK(f.outcomes[0].result == Result::missing);
    CHECK(f.outcomes[0].code == 404);
    CHECK(f.outcomes[0].text == "queue 'q' does not exist");
    CHECK(f.outcomes[1].result == Result::refused);
    CHECK(f.outcomes[1].code == 404);
    CHECK(f.outcomes[1].text.find("exchange 'nope' does not exist, so queue 'q' cannot be bound to it") == 0);
    CHECK(f.outcomes[2].result == Result::refused);
}

TEST_CASE("declarer: an exchange may be missing where it is only looked for, not where it has to be") {
    Fixture f;
    f.submit(Declarer::CheckExchange{"x"});
    f.submit(core::ForeignExchange{"x"});
    f.open();
    CHECK(f.sent() == Lines{"open 2", "check exchange x"});
    f.refuse(404, "NOT_FOUND - no exchange 'x' in vhost '/'");
    f.open();
    CHECK(f.sent() == Lines{"open 2", "check exchange x"});
    f.refuse(404, "NOT_FOUND - no exchange 'x' in vhost '/'");
    REQUIRE(f.outcomes.size() == 2);
    CHECK(f.outcomes[0].result == Result::missing);
    CHECK(f.outcomes[0].text == "exchange 'x' does not exist");
    CHECK(f.outcomes[1].result == Result::refused);
}

TEST_CASE("declarer: a check tells how many messages and consumers a queue has") {
    Fixture f;
    f.submit(Declarer::CheckQueue{"q"});
    f.submit(core::ExchangeSpec{"errors", "fanout", {}});
    f.open();
    f.answer({7, 2});
    f.answer();
    REQUIRE(f.outcomes.size() == 2);
    CHECK(f.outcomes[0].counts == amqp::QueueCounts{7, 2});
    CHECK(f.outcomes[1].counts == amqp::QueueCounts{});
}

TEST_CASE("declarer: deletes, and tells why not") {
    Fixture f;
    f.submit(Declarer::DeleteQueue{"classic", true});
    f.submit(Declarer::DeleteQueue{"quorum", false});
    f.submit(Declarer::DeleteExchange{"x"});
    f.open();
    f.refuse(406, "PRECONDITION_FAILED - queue 'classic' in vhost '/' not empty");
    f.open();
    f.answer();
    f.answer();
    CHECK(f.sent() == Lines{"open 2", "delete classic if idle", "open 2", "delete quorum", "delete exchange x"});
    REQUIRE(f.outcomes.size() == 3);
    CHECK(f.outcomes[0].result == Result::refused);
    CHECK(f.outcomes[0].text ==
          "the broker refused to delete queue 'classic': 406 PRECONDITION_FAILED - queue 'classic' in vhost '/' not "
          "empty");
    CHECK(f.outcomes[1].result == Result::done);
    CHECK(f.outcomes[2].result == Result::done);
}

TEST_CASE("declarer: every item of a topology is a step") {
    Fixture f;
    const core::Topology topology{core::ExchangeSpec{"x", "headers", {}}, plain("q"),
                                  core::BindingSpec{"q", "x", "", {}}, core::ForeignExchange{"theirs"}};
    f.open();
    f.sent();
    for (const core::TopologyItem& item : topology) {
        f.submit(amqp::step_of(item));
        f.answer();
    }
    CHECK(f.sent() == Lines{"headers x", "queue q x-queue-type", "bind q to x", "check exchange theirs"});
}

TEST_CASE("declarer: a queue without an optional argument is accepted, and the outcome says what it lacks") {
    Fixture f;
    f.submit(with_limit("q"));
    f.submit(with_limit("r"));
    f.sent();
    f.open();
    CHECK(f.sent() == Lines{"queue q x-queue-type x-delivery-limit"});
    f.refuse(406, no_limit_there);
    CHECK(f.outcomes.empty());
    CHECK(f.sent() == Lines{"open 2"});
    f.open();
    CHECK(f.sent() == Lines{"queue q x-queue-type"});
    f.answer();
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].result == Result::done);
    CHECK(f.outcomes[0].text.find("queue 'q' was made without x-delivery-limit") == 0);
    CHECK(f.sent() == Lines{"queue r x-queue-type x-delivery-limit"});
    f.answer();
    CHECK(f.outcomes[1].text.empty());
}

TEST_CASE("declarer: where the queue differs in something else too, that is what is told") {
    Fixture f;
    f.submit(with_limit("q"));
    f.open();
    f.refuse(406, no_limit_there);
    f.open();
    f.refuse(406, other_type_there);
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].result == Result::refused);
    CHECK(f.outcomes[0].text.find("x-queue-type: classic instead of quorum") != std::string::npos);
}

TEST_CASE("declarer: where the optional argument has another value, the wanted one is told, not that it was left out") {
    Fixture f;
    f.submit(with_limit("q"));
    f.open();
    f.refuse(
        406,
        "PRECONDITION_FAILED - inequivalent arg 'x-delivery-limit' for queue 'q' in vhost '/': received '1000000' but "
        "current is '50'");
    f.open();
    f.refuse(406, other_limit_there);
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].text.find("x-delivery-limit: 50 instead of 1000000") != std::string::npos);
}

TEST_CASE("declarer: a queue as an earlier retryd made it is used as it is") {
    const bool harmful = GENERATE(true, false);
    CAPTURE(harmful);
    Fixture f;
    core::QueueSpec queue = with_limit("q");
    queue.older->harmful = harmful;
    f.submit(queue);
    f.open();
    f.sent();
    f.refuse(406, no_end_there);
    f.open();
    CHECK(f.sent() == Lines{"open 2", "queue q x-queue-type x-delivery-limit"});
    REQUIRE(f.commands.last_declared.arguments.size() == 2);
    CHECK(f.commands.last_declared.arguments[1].second == core::Argument{std::int64_t{-1}});
    f.answer();
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].result == Result::done);
    CHECK(f.outcomes[0].text.starts_with("queue 'q' has x-delivery-limit -1: ") == harmful);
    CHECK(f.outcomes[0].text.empty() != harmful);
}

TEST_CASE("declarer: an older queue that differs in something else too is refused for that") {
    Fixture f;
    f.submit(with_limit("q"));
    f.open();
    f.refuse(406, no_end_there);
    f.open();
    f.refuse(406, other_type_there);
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].result == Result::refused);
    CHECK(f.outcomes[0].text.find("x-queue-type: classic instead of quorum") != std::string::npos);
}

TEST_CASE("declarer: only a difference leads to a second attempt") {
    Fixture f;
    f.submit(with_limit("q"));
    f.open();
    f.sent();
    f.refuse(403, "ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'retryd'");
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].code == 403);
    CHECK(f.sent().empty());
}

TEST_CASE("declarer: a step submitted from within an outcome is carried out after those that wait") {
    Fixture f;
    f.declarer.submit(plain("a"), [&](const Declarer::Outcome&) { f.submit(plain("c")); });
    f.submit(plain("b"));
    f.open();
    f.answer();
    f.answer();
    f.answer();
    CHECK(f.sent() == Lines{"open 2", "queue a x-queue-type", "queue b x-queue-type", "queue c x-queue-type"});
    CHECK(f.outcomes.size() == 2);
}

TEST_CASE("declarer: what happens on other channels is none of its business") {
    Fixture f;
    f.submit(plain("q"));
    f.declarer.on_channel_open(1);
    f.open();
    f.declarer.on_declared(1, {});
    f.declarer.on_channel_closed({1, 406, "PRECONDITION_FAILED", 0});
    CHECK(f.outcomes.empty());
    f.answer();
    CHECK(f.outcomes.size() == 1);
}

TEST_CASE("declarer: a channel closed while nothing was asked is opened again for the next step") {
    Fixture f;
    f.submit(plain("q"));
    f.open();
    f.answer();
    f.sent();
    f.refuse(541, "INTERNAL_ERROR");
    CHECK(f.sent().empty());
    f.submit(plain("r"));
    CHECK(f.sent() == Lines{"open 2"});
    f.open();
    CHECK(f.sent() == Lines{"queue r x-queue-type"});
}

}  // namespace retryd::amqp::declarer_test
