#include "admin/routing.h"

#include "support/catch.h"

namespace retryd::admin::routing_test {
namespace {

using Queues = std::set<std::string>;

struct World {
    Routing routing;

    void exchange(const std::string& name, const std::string& type, const std::string& alternate = "") {
        routing.exchanges[name] = {type, alternate};
    }
    void bind(const std::string& exchange, const std::string& queue, const std::string& key = "",
              bool has_arguments = false) {
        routing.bindings.push_back({exchange, queue, false, key, has_arguments});
    }
    Reached reached(const std::string& exchange, const RoutingKey& key) const {
        return RoutingGraph(routing).reached(exchange, key);
    }
    Queues queues(const std::string& exchange, const RoutingKey& key) const { return reached(exchange, key).queues; }
};

}  // namespace

TEST_CASE("routing: a topic binding takes the keys that its wildcards stand for") {
    for (const char* key : {"", "a", "a.b", "a.b.c"})
        CHECK(topic_covers("#", {key}));
    CHECK(topic_covers("a.*.c", {"a.b.c"}));
    CHECK_FALSE(topic_covers("a.*.c", {"a.c"}));
    CHECK(topic_covers("a.#.c", {"a.c"}));
    CHECK(topic_covers("a.#.c", {"a.x.y.c"}));
    CHECK_FALSE(topic_covers("a.#.c", {"a.x.y"}));
    CHECK_FALSE(topic_covers("*", {""}));
    CHECK_FALSE(topic_covers("a", {"b"}));
}

TEST_CASE("routing: of a pattern it takes all keys only where it is as wide") {
    CHECK(topic_covers("#", {"a.*", true}));
    CHECK(topic_covers("a.#", {"a.#", true}));
    CHECK(topic_covers("*.*", {"a.*", true}));
    CHECK_FALSE(topic_covers("a.*", {"a.#", true}));
    CHECK_FALSE(topic_covers("*", {"#", true}));
    CHECK_FALSE(topic_covers("a.b", {"a.*", true}));
}

TEST_CASE("routing: each type of exchange takes what RabbitMQ says of it") {
    World w;
    w.exchange("direct", "direct");
    w.bind("direct", "any", "#");
    w.bind("direct", "orders", "orders");
    CHECK(w.queues("direct", {"orders"}) == Queues{"orders"});
    CHECK(w.queues("direct", {"other"}).empty());
    CHECK_FALSE(w.reached("direct", {"other"}).doubtful);
    CHECK_FALSE(w.reached("direct", {"bills.*", true}).doubtful);
    CHECK(w.reached("direct", {"#", true}).doubtful);
    w.exchange("fanout", "fanout");
    w.bind("fanout", "all", "whatever");
    CHECK(w.queues("fanout", {"orders"}) == Queues{"all"});
    w.exchange("headers", "headers");
    w.bind("headers", "all");
    w.bind("headers", "some", "", true);
    CHECK(w.queues("headers", {"orders"}) == Queues{"all"});
    CHECK(w.reached("headers", {"orders"}).doubtful);
    CHECK(w.queues("", {"orders"}) == Queues{"orders"});
    w.exchange("hash", "x-consistent-hash");
    w.bind("hash", "some", "1");
    CHECK(w.reached("hash", {"orders"}).doubtful);
    CHECK(w.reached("not there", {"orders"}).doubtful);
}

TEST_CASE("routing: of two patterns it is seen where no key can match both") {
    World w;
    w.exchange("topic", "topic");
    const auto doubtful = [&](const std::string& bound, const std::string& pattern) {
        w.routing.bindings.clear();
        w.bind("topic", "queue", bound);
        return w.reached("topic", {pattern, true}).doubtful;
    };
    CHECK_FALSE(doubtful("failed.#", "order.#"));
    CHECK_FALSE(doubtful("a.*", "*.b.c"));
    CHECK(doubtful("a.*", "*.b"));
    CHECK(doubtful("a.b.#", "a.*"));
    CHECK(doubtful("order.new", "order.*"));
    CHECK(doubtful("#.x", "order.#"));
}

TEST_CASE("routing: exchanges behind an exchange, and the alternate one for what nothing takes") {
    World w;
    w.exchange("first", "topic", "rest");
    w.exchange("second", "direct");
    w.exchange("rest", "fanout");
    w.routing.bindings.push_back({"first", "second", true, "orders.#", false});
    w.routing.bindings.push_back({"second", "first", true, "orders.new", false});  // round and round
    w.bind("second", "new", "orders.new");
    w.bind("rest", "lost");
    CHECK(w.queues("first", {"orders.new"}) == Queues{"new"});
    CHECK(w.queues("first", {"orders.old"}).empty());
    CHECK(w.queues("first", {"bills"}) == Queues{"lost"});
}

TEST_CASE("AMQP 1.0: a target leads to its queue, or to what its exchange leads to") {
    Routing routing;
    routing.exchanges["shop/x"] = {"direct"};
    routing.exchanges["all"] = {"fanout"};
    routing.bindings = {
        {"shop/x", "orders", false, "a/b"}, {"shop/x", "mails", false, "mail"}, {"all", "orders", false, ""}};
    const RoutingGraph graph(routing);
    CHECK(queues_behind("/queues/orders", graph) == Queues{"orders"});
    CHECK(queues_behind("/queues/a%2Fb%20%C3%BC", graph) == Queues{"a/b ü"});
    CHECK(queues_behind("/queues/100%", graph) == Queues{"100%"});
    CHECK(queues_behind("/queues/%zz%4", graph) == Queues{"%zz%4"});
    CHECK(queues_behind("/exchanges/shop%2Fx/a%2Fb", graph) == Queues{"orders"});
    CHECK(queues_behind("/exchanges/all", graph) == Queues{"orders"});
    CHECK(queues_behind("/exchanges/gone/key", graph).empty());
    for (const char* other : {"", "/", "/queue/orders", "orders", "/topic/x", "/exchanges/"})
        CHECK(queues_behind(other, graph).empty());
}

}  // namespace retryd::admin::routing_test
