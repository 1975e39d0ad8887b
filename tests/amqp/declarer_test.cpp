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

using core::Milliseconds;
using core::SteadyTime;

constexpr amqp::Channel channel = 2;
constexpr amqp::Channel channels = 8;
constexpr SteadyTime start{Milliseconds{1'000'000}};

/// Writes the commands down; the test is the broker that answers them.
class Commands : public amqp::TopologyCommands {
  public:
    Lines lines;
    core::QueueSpec last_declared;

    void open_channel(amqp::Channel on) override { lines.push_back("open " + std::to_string(on)); }
    void close_channel(amqp::Channel on) override { lines.push_back("close " + std::to_string(on)); }
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
    Declarer declarer{commands, channel, channel + channels - 1};
    std::vector<Declarer::Outcome> outcomes;

    void submit(Declarer::Step step) {
        declarer.submit(std::move(step), [this](const Declarer::Outcome& outcome) { outcomes.push_back(outcome); });
    }
    void open(amqp::Channel on = channel) { declarer.on_channel_open(on); }
    void answer(const amqp::QueueCounts& counts = {}, amqp::Channel on = channel) { declarer.on_declared(on, counts); }
    void left(amqp::Channel on) { declarer.on_channel_left(on); }
    void tick(Milliseconds after_start) { declarer.on_tick(start + after_start); }
    void check(const std::string& queue) { submit(Declarer::CheckQueue{queue}); }
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
            {{"x-delivery-limit", -1, true}}};
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
    const std::string queue = GENERATE("work", "no queue 'work'");
    f.submit(Declarer::CheckQueue{queue});
    f.open();
    f.refuse(404,
             "NOT_FOUND - home node 'rabbit@b' of durable queue '" + queue + "' in vhost '/' is down or inaccessible");
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
    queue.older.front().harmful = harmful;
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

TEST_CASE("declarer: where a long name cuts the refusal short, one value after the other is tried") {
    const std::string cut =
        "PRECONDITION_FAILED - inequivalent arg 'x-delivery-limit' for queue '" + std::string(190, 'q') + "...";
    Fixture f;
    core::QueueSpec queue = with_limit("q");
    queue.older.push_back({"x-delivery-limit", 7, false});
    f.submit(queue);
    f.open();
    std::vector<core::Argument> tried;
    for (int i = 0; i < 2; ++i) {
        f.refuse(406, cut);
        f.open();
        tried.push_back(f.commands.last_declared.arguments.back().second);
    }
    CHECK(tried == std::vector<core::Argument>{std::int64_t{-1}, std::int64_t{7}});
    SECTION("the last of which it has") {
        f.answer();
        REQUIRE(f.outcomes.size() == 1);
        CHECK(f.outcomes[0].result == Result::done);
        CHECK(f.outcomes[0].text.empty());
    }
    SECTION("then it is declared without any") {
        f.refuse(406, cut);
        f.open();
        CHECK(f.commands.last_declared.arguments.size() == 1);
        f.answer();
        REQUIRE(f.outcomes.size() == 1);
        CHECK(f.outcomes[0].lacking == Lines{"x-delivery-limit"});
    }
    SECTION("and refused, if that is not it either") {
        f.refuse(406, cut);
        f.open();
        f.refuse(406, cut);
        REQUIRE(f.outcomes.size() == 1);
        CHECK(f.outcomes[0].result == Result::refused);
    }
}

TEST_CASE("declarer: a queue that differs in several arguments that it may differ in is used as it is") {
    Fixture f;
    core::QueueSpec queue = with_limit("q");
    queue.arguments.emplace_back("x-overflow", "reject-publish");
    queue.optional_arguments.emplace_back("x-overflow");
    f.submit(queue);
    f.open();
    f.refuse(406, no_end_there);
    f.open();
    f.sent();
    f.refuse(406,
             "PRECONDITION_FAILED - inequivalent arg 'x-overflow' for queue 'q' in vhost '/': received the value "
             "'reject-publish' of type 'longstr' but current is none");
    f.open();
    CHECK(f.sent() == Lines{"open 2", "queue q x-queue-type x-delivery-limit"});
    CHECK(f.commands.last_declared.arguments[1].second == core::Argument{std::int64_t{-1}});
    f.answer();
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].result == Result::done);
    CHECK(f.outcomes[0].lacking == Lines{"x-overflow"});
    CHECK(f.outcomes[0].text.starts_with("queue 'q' has x-delivery-limit -1: "));
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

// ── What is not answered ────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("declarer: a step without an answer is overtaken after 300 ms, not before") {
    Fixture f;
    f.tick(Milliseconds{0});
    f.check("hanging");
    f.check("next");
    f.check("last");
    f.open();
    CHECK(f.declarer.next_tick() == start);  // for its time begins with a tick
    f.tick(Milliseconds{10});
    CHECK(f.declarer.next_tick() == start + Milliseconds{310});
    f.tick(Milliseconds{309});
    CHECK(f.sent() == Lines{"open 2", "check hanging"});
    f.tick(Milliseconds{310});
    CHECK(f.sent() == Lines{"open 3"});
    f.open(3);
    f.answer({}, 3);
    CHECK(f.sent() == Lines{"check next", "check last"});  // the way is free: nobody waits once more
    f.answer({}, 3);
    CHECK(f.outcomes.size() == 2);
    CHECK_FALSE(f.declarer.idle());
    f.answer();
    CHECK(f.outcomes.size() == 3);
    CHECK(f.declarer.idle());
    f.check("again");
    CHECK(f.sent() == Lines{"check again"});
    f.answer();  // on the first channel: it is as good as new
    CHECK(f.outcomes.size() == 4);
}

TEST_CASE("declarer: the one that has overtaken has 300 ms too") {
    Fixture f;
    f.check("a");
    f.check("b");
    f.check("c");
    f.open();
    f.tick(Milliseconds{0});
    f.tick(Milliseconds{300});
    f.open(3);
    f.tick(Milliseconds{301});
    f.sent();
    CHECK(f.declarer.next_tick() == start + Milliseconds{600});
    f.tick(Milliseconds{599});
    CHECK(f.sent().empty());
    f.tick(Milliseconds{601});
    CHECK(f.sent() == Lines{"open 4"});
}

TEST_CASE("declarer: a channel that is not opened holds nobody up either") {
    Fixture f;
    f.check("a");
    f.check("b");
    f.tick(Milliseconds{0});
    f.tick(Milliseconds{300});
    CHECK(f.sent() == Lines{"open 2", "open 3"});
    f.tick(Milliseconds{30'000});
    CHECK(f.sent() == Lines{"close 2"});
    f.open(2);  // too late
    CHECK(f.sent().empty());
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].unanswered);
}

TEST_CASE("declarer: without a tick nothing is overtaken") {
    Fixture f;
    f.check("a");
    f.check("b");
    f.open();
    CHECK(f.sent() == Lines{"open 2", "check a"});
}

TEST_CASE("declarer: nothing is due while nothing is without an answer") {
    Fixture f;
    CHECK(f.declarer.next_tick() == std::nullopt);
    f.check("a");
    f.open();
    f.tick(Milliseconds{0});
    CHECK(f.declarer.next_tick() == start + Milliseconds{30'000});  // there is none to overtake it
    f.answer();
    CHECK(f.declarer.next_tick() == std::nullopt);
}

TEST_CASE("declarer: what is not answered within 30 s is refused, and the text says what it means") {
    Fixture f;
    f.check("work");
    f.open();
    f.tick(Milliseconds{0});
    f.sent();
    f.tick(Milliseconds{29'999});
    CHECK(f.outcomes.empty());
    f.tick(Milliseconds{30'000});
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].result == Result::refused);
    CHECK(f.outcomes[0].unanswered);
    CHECK(f.outcomes[0].code == 0);
    CHECK(
        f.outcomes[0].text ==
        "the broker has not answered for 30s when asked to look for queue 'work': the process of that queue hangs, or "
        "too few nodes of its cluster are there to agree. Until it is asked again, this counts as refused; everything "
        "else goes on. Start the nodes that are missing (rabbitmqctl cluster_status); if all are there, rabbitmqctl "
        "list_unresponsive_queues -p VHOST shows which queues hang: restart the node of such a queue");
    CHECK(f.sent() == Lines{"close 2"});
    CHECK(f.declarer.idle());
    CHECK(f.declarer.next_tick() == std::nullopt);
    f.submit(core::BindingSpec{"q", "errors", "", {}});
    f.open(3);
    f.tick(Milliseconds{30'000});
    f.tick(Milliseconds{60'000});
    REQUIRE(f.outcomes.size() == 2);
    CHECK(f.outcomes[1].text ==
          "the broker has not answered for 30s when asked to bind queue 'q' to exchange 'errors': too few nodes of its "
          "cluster are there to agree. Until it is asked again, this counts as refused; everything else goes on. Start "
          "the nodes that are missing (rabbitmqctl cluster_status)");
}

TEST_CASE("declarer: every step that is not answered is named") {
    const auto [step, words] = GENERATE(table<Declarer::Step, std::string>({
        {core::ExchangeSpec{"x", "fanout", {}}, "declare exchange 'x': too few"},
        {core::QueueSpec{"q", {}, {}}, "declare queue 'q': the process of that queue hangs"},
        {core::BindingSpec{"q", "x", "", {}}, "bind queue 'q' to exchange 'x': too few"},
        {core::ForeignExchange{"x"}, "look for exchange 'x': too few"},
        {Declarer::CheckQueue{"q"}, "look for queue 'q': the process of that queue hangs"},
        {Declarer::CheckExchange{"x"}, "look for exchange 'x': too few"},
        {Declarer::DeleteQueue{"q"}, "delete queue 'q': the process of that queue hangs"},
        {Declarer::DeleteExchange{"x"}, "delete exchange 'x': too few"},
    }));
    Fixture f;
    f.submit(step);
    f.tick(Milliseconds{0});
    f.tick(Milliseconds{30'000});
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].text.find("when asked to " + words) != std::string::npos);
}

TEST_CASE("declarer: an answer that comes too late is ignored, whatever it is") {
    Fixture f;
    f.check("hanging");
    f.open();
    f.tick(Milliseconds{0});
    f.tick(Milliseconds{30'000});
    REQUIRE(f.outcomes.size() == 1);
    f.sent();
    const bool refused = GENERATE(false, true);
    CAPTURE(refused);
    refused ? f.refuse(404, "NOT_FOUND - no queue 'hanging' in vhost '/'") : f.answer({1, 1});
    f.check("next");
    CHECK(f.sent() == Lines{"open 3"});
    f.open(3);
    refused ? f.refuse(404, "NOT_FOUND - no queue 'hanging' in vhost '/'") : f.answer();
    CHECK(f.outcomes.size() == 1);
    f.answer({}, 3);
    REQUIRE(f.outcomes.size() == 2);
    CHECK(f.outcomes[1].result == Result::done);
}

TEST_CASE("declarer: a channel that was given up is used again once the broker has closed it, not before") {
    Fixture f;
    f.check("hanging");
    f.open();
    f.tick(Milliseconds{0});
    f.tick(Milliseconds{30'000});
    f.sent();
    f.check("a");
    f.open(3);
    f.answer({}, 3);
    CHECK(f.sent() == Lines{"open 3", "check a"});
    f.left(2);
    CHECK(f.sent().empty());
    f.check("b");
    CHECK(f.sent() == Lines{"open 2"});
    f.open();
    f.answer();
    CHECK(f.sent() == Lines{"check b"});
    CHECK(f.outcomes.size() == 3);
}

TEST_CASE("declarer: many that hang are overtaken by more and more at once") {
    Commands commands;
    Declarer declarer(commands, 2, 40);
    int answered = 0;
    for (int i = 0; i < 20; ++i)
        declarer.submit(Declarer::CheckQueue{"q" + std::to_string(i)}, [&](const Declarer::Outcome&) { ++answered; });
    std::vector<std::size_t> opened;
    for (int time = 0; time <= 1'200; time += 300) {
        declarer.on_tick(start + Milliseconds{time});
        opened.push_back(commands.lines.size());
    }
    CHECK(opened == std::vector<std::size_t>{1, 2, 6, 18, 20});
}

TEST_CASE("declarer: a refusal on a further channel closes that one, and it goes on there") {
    Fixture f;
    f.check("hanging");
    f.check("gone");
    f.check("next");
    f.open();
    f.tick(Milliseconds{0});
    f.tick(Milliseconds{300});
    f.open(3);
    f.sent();
    f.declarer.on_channel_closed({3, 404, "NOT_FOUND - no queue 'gone' in vhost '/'", 0});
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].result == Result::missing);
    CHECK(f.sent() == Lines{"open 3"});
    f.open(3);
    CHECK(f.sent() == Lines{"check next"});
    f.answer({}, 3);
    f.answer();
    CHECK(f.outcomes.size() == 3);
}

TEST_CASE("declarer: the second attempt at a queue stays on its channel") {
    Fixture f;
    f.check("hanging");
    f.submit(with_limit("q"));
    f.open();
    f.tick(Milliseconds{0});
    f.tick(Milliseconds{300});
    f.open(3);
    f.sent();
    f.declarer.on_channel_closed({3, 406, no_limit_there, 0});
    CHECK(f.sent() == Lines{"open 3"});
    f.open(3);
    f.answer({}, 3);
    CHECK(f.sent() == Lines{"queue q x-queue-type"});
    REQUIRE(f.outcomes.size() == 1);
    CHECK(f.outcomes[0].text.find("queue 'q' was made without x-delivery-limit") == 0);
}

TEST_CASE("declarer: while all channels wait for an answer, the next step waits; its time begins when it does") {
    Fixture f;
    constexpr Milliseconds between{300};
    for (int i = 0; i < channels; ++i)
        f.check("hanging " + std::to_string(i));
    f.check("next");
    for (int i = 0; i < channels; ++i) {
        f.tick(i * between);
        f.open(static_cast<amqp::Channel>(channel + i));
        f.tick(i * between);
    }
    f.sent();
    CHECK(f.declarer.next_tick() == start + Milliseconds{30'000});
    f.tick(Milliseconds{29'999});
    CHECK(f.sent().empty());
    f.tick(Milliseconds{30'000});
    CHECK(f.sent() == Lines{"close 2"});
    f.left(2);
    CHECK(f.sent() == Lines{"open 2"});
    f.open();
    CHECK(f.sent() == Lines{"check next"});
    f.tick(Milliseconds{30'001});
    f.tick(Milliseconds{60'000});
    CHECK(f.outcomes.size() == channels);
    f.tick(Milliseconds{60'001});
    REQUIRE(f.outcomes.size() == channels + 1);
    CHECK(f.outcomes.back().text.find("'next'") != std::string::npos);
}

TEST_CASE("declarer: once all channels are given up, what waits is refused after 30 s, too") {
    Fixture f;
    for (int i = 0; i < channels; ++i) {
        f.check("hanging " + std::to_string(i));
        f.tick(i * Milliseconds{300});
    }
    const Milliseconds all_given_up{(channels - 1) * 300 + 30'000};
    f.tick(all_given_up - Milliseconds{1});
    CHECK(f.outcomes.size() == channels - 1);
    f.tick(all_given_up);
    REQUIRE(f.outcomes.size() == channels);
    f.check("next");
    f.check("last");
    CHECK(f.declarer.next_tick() == start + all_given_up);
    f.tick(all_given_up);
    CHECK(f.declarer.next_tick() == start + all_given_up + Milliseconds{30'000});
    f.tick(all_given_up + Milliseconds{29'999});
    CHECK(f.outcomes.size() == channels);
    f.sent();

    const bool in_time = GENERATE(false, true);
    CAPTURE(in_time);
    if (in_time) f.left(4);
    f.tick(all_given_up + Milliseconds{30'000});
    CHECK(f.outcomes.size() == (in_time ? channels : channels + 2));
    CHECK(f.sent() == (in_time ? Lines{"open 4"} : Lines{}));
    CHECK(f.declarer.idle() != in_time);
}

TEST_CASE("declarer: the same question is not asked twice at a time") {
    Fixture f;
    f.check("hanging");
    f.check("hanging");
    f.check("next");
    f.open();
    f.tick(Milliseconds{0});
    f.sent();
    f.tick(Milliseconds{300});
    f.open(3);
    f.answer({}, 3);
    CHECK(f.sent() == Lines{"open 3", "check next"});
    CHECK(f.outcomes.size() == 1);
    CHECK(f.declarer.next_tick() == start + Milliseconds{30'000});

    SECTION("the first one's answer lets the second one go") {
        f.answer();
        CHECK(f.sent() == Lines{"check hanging"});
    }
    SECTION("nor while the channel of the first one is given up: then it is refused as well") {
        f.tick(Milliseconds{30'000});
        CHECK(f.sent() == Lines{"close 2"});
        f.tick(Milliseconds{59'999});
        CHECK(f.outcomes.size() == 2);
        f.tick(Milliseconds{60'000});
        CHECK(f.outcomes.size() == 3);
        CHECK(f.sent().empty());
        CHECK(f.declarer.idle());
    }
    SECTION("until the broker has closed it") {
        f.tick(Milliseconds{30'000});
        f.sent();
        f.tick(Milliseconds{40'000});
        f.left(2);
        CHECK(f.sent() == Lines{"open 2"});
    }
}

TEST_CASE("declarer: a step that is submitted because another was not answered is carried out") {
    Fixture f;
    f.declarer.submit(Declarer::CheckQueue{"hanging"}, [&](const Declarer::Outcome&) { f.check("instead"); });
    f.open();
    f.tick(Milliseconds{0});
    f.sent();
    f.tick(Milliseconds{30'000});
    CHECK(f.sent() == Lines{"close 2", "open 3"});
}

TEST_CASE("declarer: knows its own channels") {
    Fixture f;
    CHECK_FALSE(f.declarer.owns(1));
    CHECK(f.declarer.owns(2));
    CHECK(f.declarer.owns(9));
    CHECK_FALSE(f.declarer.owns(10));
}

}  // namespace retryd::amqp::declarer_test
