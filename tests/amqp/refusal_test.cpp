// The texts are those of RabbitMQ 3.10.8, 4.0.5 and 4.3.6, which do not differ.
#include "amqp/refusal.h"

#include "support/catch.h"

namespace retryd::amqp::refusal_test {

using amqp::parse_inequivalent;

namespace {

void check_parsed(std::string_view text, const std::string& argument, const std::string& name, const std::string& vhost,
                  const std::string& received, const std::string& current) {
    INFO(text);
    const auto parsed = parse_inequivalent(text);
    REQUIRE(parsed);
    CHECK(parsed->argument == argument);
    CHECK(parsed->name == name);
    CHECK(parsed->vhost == vhost);
    CHECK(parsed->received == received);
    CHECK(parsed->current == current);
}

const core::QueueSpec rung{"a.retry.6s", {{"x-queue-type", "quorum"}, {"x-message-ttl", std::int64_t{6000}}}, {}};

}  // namespace

TEST_CASE("refusal: two values") {
    check_parsed(
        "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'a' in vhost '/': received '6000' but "
        "current is '5000'",
        "x-message-ttl", "a", "/", "6000", "5000");
}

TEST_CASE("refusal: a value where none was, and none where a value was") {
    check_parsed(
        "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'a' in vhost '/': received none but "
        "current is the value '5000' of type 'long'",
        "x-message-ttl", "a", "/", "none", "5000");
    check_parsed(
        "PRECONDITION_FAILED - inequivalent arg 'x-dead-letter-exchange' for queue 'a' in vhost 'shop': received "
        "the value '' of type 'longstr' but current is none",
        "x-dead-letter-exchange", "a", "shop", "", "none");
}

TEST_CASE("refusal: an exchange of another type") {
    check_parsed(
        "PRECONDITION_FAILED - inequivalent arg 'type' for exchange 'amq.direct' in vhost '/': received 'fanout' "
        "but current is 'direct'",
        "type", "amq.direct", "/", "fanout", "direct");
}

TEST_CASE("refusal: a queue name that looks like the rest of the sentence") {
    check_parsed(
        "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'it's 'odd' in vhost 'x'' in vhost "
        "'/': received the value '5000' of type 'long' but current is none",
        "x-message-ttl", "it's 'odd' in vhost 'x'", "/", "5000", "none");
}

TEST_CASE("refusal: a queue name that looks like the values") {
    check_parsed(
        "PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'a': received 'b' but current is 'c' in vhost '/': "
        "received 'true' but current is 'false'",
        "durable", "a': received 'b' but current is 'c", "/", "true", "false");
}

TEST_CASE("refusal: an answer cut at 255 bytes still names the argument") {
    const std::string text =
        "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue '" + std::string(186, 'n') + "...";
    check_parsed(text, "x-message-ttl", "", "", "", "");
    CHECK(amqp::explain_queue_refusal(rung, 406, text).line() ==
          "queue 'a.retry.6s' is there already with another x-message-ttl: something else instead of 6000. Once "
          "rabbitmqctl list_queues name messages shows that it is empty, delete it, and it is declared again "
          "(rabbitmqctl "
          "delete_queue 'a.retry.6s'); or change the configuration to the value that the queue has");
}

TEST_CASE("refusal: other refusals are not taken for a difference") {
    CHECK_FALSE(parse_inequivalent(""));
    CHECK_FALSE(parse_inequivalent("NOT_FOUND - no queue 'nope' in vhost '/'"));
    CHECK_FALSE(
        parse_inequivalent("PRECONDITION_FAILED - invalid arg 'x-queue-type' for queue 'c' in vhost '/': "
                           "\"unsupported queue type 'nonsense'\""));
    CHECK_FALSE(parse_inequivalent("PRECONDITION_FAILED - inequivalent arg 'x-mess"));
}

TEST_CASE("refusal: a different queue is explained with both values and the way out") {
    CHECK(
        amqp::explain_queue_refusal(rung, 406,
                                    "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'a.retry.6s' in "
                                    "vhost 'shop': received '6000' but current is '5000'")
            .line() ==
        "queue 'a.retry.6s' is there already with another x-message-ttl: 5000 instead of 6000. Once rabbitmqctl "
        "list_queues --vhost 'shop' name messages shows that it is empty, delete it, and it is declared again "
        "(rabbitmqctl "
        "delete_queue --vhost 'shop' 'a.retry.6s'); or change the configuration to the value that the queue has");
}

TEST_CASE("refusal: an empty value is seen as such, and is not taken for an answer that was cut") {
    CHECK(amqp::explain_queue_refusal(rung, 406,
                                      "PRECONDITION_FAILED - inequivalent arg 'x-dead-letter-exchange' for queue "
                                      "'a.retry.6s' in vhost '/': received none but current is the value '' of type "
                                      "'longstr'")
              .line()
              .find("x-dead-letter-exchange: '' instead of none.") != std::string::npos);
    CHECK(amqp::explain_queue_refusal(rung, 406,
                                      "PRECONDITION_FAILED - inequivalent arg 'x-dead-letter-exchange' for queue "
                                      "'a.retry.6s' in vhost '/': received the value '' of type 'longstr' but current "
                                      "is none")
              .line()
              .find("x-dead-letter-exchange: none instead of ''.") != std::string::npos);
}

TEST_CASE("refusal: a quote in a queue name does not break the command") {
    const core::QueueSpec queue{"it's", {}, {}};
    const auto line = amqp::explain_queue_refusal(queue, 406,
                                                  "PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'it's' "
                                                  "in vhost '/': received 'true' but current is "
                                                  "'false'")
                          .line();
    CHECK(line.find(R"(delete_queue 'it'\''s')") != std::string::npos);
    CHECK(line.find("durable: false instead of true") != std::string::npos);
}

TEST_CASE("refusal: a missing permission names the remedy, a reserved name does not") {
    CHECK(
        amqp::explain_queue_refusal(
            rung, 403, "ACCESS_REFUSED - access to queue 'a.retry.6s' in vhost '/' refused for user 'retryd'")
            .line() ==
        "the broker refused to declare queue 'a.retry.6s': 403 ACCESS_REFUSED - access to queue 'a.retry.6s' in vhost "
        "'/' refused for user 'retryd'; give the user the permission: `retryd doctor --permissions` prints the command "
        "(rabbitmqctl set_permissions)");
    CHECK(
        amqp::explain_exchange_refusal({"amq.x", "fanout", {}}, 403,
                                       "ACCESS_REFUSED - exchange name 'amq.x' contains reserved prefix 'amq.*'")
            .line() ==
        "the broker refused to declare exchange 'amq.x': 403 ACCESS_REFUSED - exchange name 'amq.x' contains reserved "
        "prefix 'amq.*'");
}

TEST_CASE("refusal: an exchange of another type is explained") {
    CHECK(
        amqp::explain_exchange_refusal({"errors", "fanout", {}}, 406,
                                       "PRECONDITION_FAILED - inequivalent arg 'type' for exchange 'errors' in vhost "
                                       "'/': received 'fanout' but current is 'direct'")
            .line() ==
        "exchange 'errors' is there already with another type: direct instead of fanout. Configure a name that is not "
        "taken, or delete the exchange if nobody uses it");
}

TEST_CASE("refusal: a queue without its limit is explained with the policy that mends it") {
    const core::QueueSpec queue{"a.parked", {{"x-delivery-limit", std::int64_t{1'000'000}}}, {"x-delivery-limit"}};
    CHECK(amqp::explain_lack(queue, "x-delivery-limit",
                             "PRECONDITION_FAILED - inequivalent arg 'x-delivery-limit' for queue 'a.parked' in "
                             "vhost 'shop': received the value '1000000' of type 'long' but current is none")
              .line() ==
          "queue 'a.parked' was made without x-delivery-limit: RabbitMQ 4 takes a message out of it that was given "
          "to a consumer 21 times. A policy fixes it (only one applies to a queue): rabbitmqctl set_policy --vhost "
          "'shop' 'delivery-limit-a.parked' '^a\\.parked$' '{\"delivery-limit\": 1000000}' --apply-to queues "
          "--priority 2000");
}

TEST_CASE("refusal: an error queue with a limit that no message reaches, or none, is explained with the policy") {
    const core::QueueSpec::Older older{"x-delivery-limit", 1'000'000, true};
    const core::QueueSpec queue{
        "retryd.errors", {{"x-delivery-limit", std::int64_t{100}}}, {"x-delivery-limit"}, {older}};
    const std::string policy =
        "A policy fixes it (only one applies to a queue): rabbitmqctl set_policy --vhost 'shop' "
        "'delivery-limit-retryd.errors' '^retryd\\.errors$' '{\"delivery-limit\": 100}' --apply-to queues --priority "
        "2000";
    const std::string refusal =
        "PRECONDITION_FAILED - inequivalent arg 'x-delivery-limit' for queue 'retryd.errors' in vhost 'shop': received "
        "the value '100' of type 'long' but current is ";
    CHECK(amqp::explain_older(queue, older, refusal + "the value '1000000' of type 'long'").line() ==
          "queue 'retryd.errors' has x-delivery-limit 1000000, as an earlier retryd made it: a message that the broker "
          "cannot hand over (see docs/operations.md) would stop all retries. " +
              policy);
    CHECK(
        amqp::explain_lack(queue, "x-delivery-limit", refusal + "none").line() ==
        "queue 'retryd.errors' was made without x-delivery-limit: on RabbitMQ 3 a message that the broker cannot hand "
        "over (see docs/operations.md) stops all retries, on RabbitMQ 4 one that was in flight when 21 connections "
        "were lost is parked. " +
            policy);
}

TEST_CASE("refusal: a queue that would throw out at a limit is used without a word: only a policy sets one") {
    const core::QueueSpec queue{"a.parked", {{"x-overflow", "reject-publish"}}, {"x-overflow"}};
    CHECK(amqp::explain_lack(queue, "x-overflow",
                             "PRECONDITION_FAILED - inequivalent arg 'x-overflow' for queue 'a.parked' in vhost '/': "
                             "received the value 'reject-publish' of type 'longstr' but current is none")
              .line()
              .empty());
}

TEST_CASE("refusal: what an earlier retryd made is explained with two ways out") {
    const core::QueueSpec::Older older{"x-delivery-limit", -1, true};
    const core::QueueSpec queue{"a.parked", {}, {}, {older}};
    const std::string refusal =
        "PRECONDITION_FAILED - inequivalent arg 'x-delivery-limit' for queue 'a.parked' in vhost 'shop': received the "
        "value '1000000' of type 'long' but current is the value '-1' of type 'long'";
    CHECK(amqp::explain_older(queue, older, refusal).line() ==
          "queue 'a.parked' has x-delivery-limit -1: up to 4.1.4 RabbitMQ writes to the log of such a queue every 5 s "
          "for ever, even while it is idle, so its disk fills slowly. Upgrade RabbitMQ to 4.1.5 or 4.2; or, while "
          "nothing is rejected, once "
          "rabbitmqctl list_queues --vhost 'shop' name messages shows that it is empty, delete it, and it is declared "
          "again "
          "(rabbitmqctl delete_queue --vhost 'shop' 'a.parked')");
}

TEST_CASE("refusal: a return exchange that belongs to another error exchange is explained") {
    const core::ExchangeSpec exchange{"retryd.return", "headers", {{"alternate-exchange", "mine"}}};
    const std::string way_out =
        ". All retryd daemons of a vhost share it: give them the same errors.exchange, or a vhost each; or delete the "
        "exchange if nobody uses it";
    CHECK(amqp::explain_exchange_refusal(
              exchange, 406,
              "PRECONDITION_FAILED - inequivalent arg 'alternate-exchange' for exchange 'retryd.return' in vhost '/': "
              "received 'mine' but current is 'theirs'")
              .line() ==
          "exchange 'retryd.return' is there already with another alternate-exchange: theirs instead of mine" +
              way_out);
    CHECK(amqp::explain_exchange_refusal(exchange, 406,
                                         "PRECONDITION_FAILED - inequivalent arg 'alternate-exchange' for exchange "
                                         "'retryd.return' in vhost '" +
                                             std::string(100, 'v') + "...")
              .line() ==
          "exchange 'retryd.return' is there already with another alternate-exchange: something else instead of mine" +
              way_out);
}

TEST_CASE("refusal: a channel that is closed for want of a permission says what gives it, and that all goes on then") {
    const std::string words =
        "ACCESS_REFUSED - write access to exchange 'amq.default' in vhost '/' refused for user 'r'";
    const std::string line = amqp::explain_closed_channel("publishing", words);
    CHECK(line == "the broker closed the publishing channel: " + words +
                      "; give the user the permission: `retryd doctor --permissions` prints the command (rabbitmqctl "
                      "set_permissions)");
    CHECK(amqp::remedy(amqp::Error(amqp::Error::Kind::refused, line)) ==
          "once it has the permission all goes on by itself");
    const std::string other = amqp::explain_closed_channel("consuming", "NOT_FOUND - no queue 'q' in vhost '/'");
    CHECK(other == "the broker closed the consuming channel: NOT_FOUND - no queue 'q' in vhost '/'");
    CHECK(amqp::remedy(amqp::Error(amqp::Error::Kind::refused, other)) == amqp::remedy(amqp::Error::Kind::refused));
}

TEST_CASE("refusal: 541 for a basic.consume that a queue does not answer is told apart from 541 for a message") {
    using core::Milliseconds;
    const char* const bare = "INTERNAL_ERROR";
    CHECK(amqp::is_consume_unanswered(541, bare, Milliseconds(65'000)));  // RabbitMQ 3.10.8
    CHECK_FALSE(amqp::is_consume_unanswered(541, bare, Milliseconds(100)));
    CHECK_FALSE(amqp::is_consume_unanswered(541, bare, Milliseconds(0)));
    CHECK_FALSE(amqp::is_consume_unanswered(320, "CONNECTION_FORCED", Milliseconds(65'000)));
    CHECK(amqp::is_consume_unanswered(541, "INTERNAL_ERROR - failed consuming from quorum queue 'q': noproc",
                                      Milliseconds(100)));
}

TEST_CASE("refusal: an exchange that is not there is explained by what it was for") {
    const std::string text = "NOT_FOUND - no exchange 'theirs' in vhost '/'";
    CHECK(amqp::explain_binding_refusal({"retryd.errors", "theirs", "#", {}}, 404, text).line() ==
          "exchange 'theirs' does not exist, so queue 'retryd.errors' cannot be bound to it and gets nothing from "
          "there. Declare the exchange, or correct its name in the configuration");
    CHECK(amqp::explain_foreign_refusal({"theirs"}, 404, text).line() ==
          "exchange 'theirs' does not exist: what should be parked there goes to the catch-all. Declare the exchange, "
          "or correct `parked` in the configuration");
    CHECK(
        amqp::explain_foreign_refusal({"theirs"}, 403, "ACCESS_REFUSED - access to exchange 'theirs' refused").line() ==
        "the broker refused to say whether exchange 'theirs' exists: 403 ACCESS_REFUSED - access to exchange 'theirs' "
        "refused; give the user the permission: `retryd doctor --permissions` prints the command (rabbitmqctl "
        "set_permissions)");
}

}  // namespace retryd::amqp::refusal_test
