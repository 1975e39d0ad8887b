#include "admin/amqp10_clients.h"

#include "support/catch.h"

namespace retryd::admin::amqp10_clients_test {

using Queues = std::set<std::string>;

TEST_CASE("AMQP 1.0: a target leads to its queue, or to what its exchange leads to") {
    Routing routing;
    routing.exchanges["shop/x"] = {"direct"};
    routing.exchanges["all"] = {"fanout"};
    routing.bindings = {
        {"shop/x", "orders", false, "a/b"}, {"shop/x", "mails", false, "mail"}, {"all", "orders", false, ""}};
    const Ways ways(routing);
    CHECK(queues_behind("/queues/orders", ways) == Queues{"orders"});
    CHECK(queues_behind("/queues/a%2Fb%20%C3%BC", ways) == Queues{"a/b ü"});
    CHECK(queues_behind("/queues/100%", ways) == Queues{"100%"});
    CHECK(queues_behind("/queues/%zz%4", ways) == Queues{"%zz%4"});
    CHECK(queues_behind("/exchanges/shop%2Fx/a%2Fb", ways) == Queues{"orders"});
    CHECK(queues_behind("/exchanges/all", ways) == Queues{"orders"});
    CHECK(queues_behind("/exchanges/gone/key", ways).empty());
    for (const char* other : {"", "/", "/queue/orders", "orders", "/topic/x", "/exchanges/"})
        CHECK(queues_behind(other, ways).empty());
}

TEST_CASE("AMQP 1.0: the note names the work queues, not all of a great many") {
    CHECK(amqp10_note({}).empty());
    CHECK(amqp10_note({"mails", "orders"}).starts_with("producers or consumers of mails, orders speak AMQP 1.0. "));
    Queues many;
    for (int i = 10; i < 40; ++i)
        many.insert("queue" + std::to_string(i));
    CHECK(amqp10_note(many).find("queue19 and 20 more speak") != std::string::npos);
}

}  // namespace retryd::admin::amqp10_clients_test
