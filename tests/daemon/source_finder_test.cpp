#include "daemon/source_finder.h"

#include "core/source_queues.h"
#include "support/catch.h"

namespace retryd::daemon::source_finder_test {
namespace {

using Found = std::vector<amqp::FoundSource>;

core::Policy policy() {
    core::Policy policy;
    core::Entry entry;
    entry.match = "*";
    entry.parked.queue = "{queue}.parked";
    policy.entries.push_back(entry);
    policy.sources = {{"orders_error", core::Dialect::masstransit}, {"*_error", core::Dialect::rebus}, {"x*"}};
    return policy;
}

http::ListedQueue queue(const std::string& name) {
    http::ListedQueue listed;
    listed.name = name;
    listed.type = "quorum";
    return listed;
}

}  // namespace

TEST_CASE("a glob finds queues, the first source that matches has them, and one that is named is not found again") {
    CHECK(found_sources(policy(), {queue("orders_error"), queue("mail_error"), queue("x_error"), queue("x"),
                                   queue("orders")}) == Found{{"mail_error", 1}, {"x_error", 1}, {"x", 2}});
}

TEST_CASE("a glob finds no queue of retryd's, and none that is exclusive, auto-delete or a stream") {
    http::ListedQueue exclusive = queue("a_error");
    exclusive.exclusive = true;
    http::ListedQueue temporary = queue("b_error");
    temporary.auto_delete = true;
    http::ListedQueue stream = queue("c_error");
    stream.type = "stream";
    core::Policy all = policy();
    all.sources = {{"*d*"}, {"*_error"}, {"retryd.*"}, {"*.retry.*"}};
    CHECK(found_sources(all, {exclusive, temporary, stream, queue("retryd.errors"), queue("retryd.parked"),
                              queue("mail.parked"), queue("mail.retry.5s"), queue("retryd.detour.2s")})
              .empty());
}

TEST_CASE("what a glob of the sources matches is no work queue") {
    const core::Policy with_globs = policy();
    CHECK(core::match(with_globs, "orders") != nullptr);
    CHECK(core::match(with_globs, "mail_error") == nullptr);
    CHECK(core::match(with_globs, "x") == nullptr);
    CHECK(core::has_source_globs(with_globs));
}

}  // namespace retryd::daemon::source_finder_test
