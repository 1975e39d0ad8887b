#include "daemon/queue_finders.h"

#include <atomic>
#include <memory>

#include "core/policy.h"
#include "support/await.h"
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

namespace retryd::daemon::plumbing_finder_test {
namespace {

using Names = std::vector<std::string>;
using core::Milliseconds;
using test::await;

struct Scene {
    struct Shared {
        std::atomic<bool> answers{true};
        std::atomic<bool> fails{false};
        std::atomic<int> asked{0};
    };
    std::shared_ptr<Shared> shared = std::make_shared<Shared>();
    core::SteadyTime now{Milliseconds{1'000'000}};
    PlumbingFinder finder{ask()};

    PlumbingFinder::Ask ask() const {
        return [shared = shared] {
            ++shared->asked;
            await([&] { return shared->answers.load(); });
            return PlumbingFinder::Look{{"events", "orders"}, {"events"}, shared->fails};
        };
    }
    ~Scene() { shared->answers = true; }

    /// Until somebody is told something.
    Names turns() {
        Names names;
        await([&] { return !(names = finder.turn(now)).empty(); });
        return names;
    }
};

}  // namespace

TEST_CASE("plumbing: what is not known is asked for once, and then known for a minute") {
    Scene s;
    CHECK_FALSE(s.finder.is_excluded("events", s.now).has_value());
    CHECK_FALSE(s.finder.is_excluded("orders", s.now).has_value());
    CHECK(s.finder.awaited());
    CHECK(s.turns() == Names{"events", "orders"});
    CHECK_FALSE(s.finder.awaited());
    CHECK(s.finder.is_excluded("events", s.now) == true);
    CHECK(s.finder.is_excluded("orders", s.now) == false);
    s.now += Milliseconds{59'000};
    CHECK(s.finder.is_excluded("events", s.now) == true);
    CHECK(s.shared->asked == 1);
    s.now += Milliseconds{1'000};
    CHECK_FALSE(s.finder.is_excluded("events", s.now).has_value());
    CHECK(s.turns() == Names{"events"});
    CHECK(s.shared->asked == 2);
}

TEST_CASE("plumbing: a queue that is not listed is a work queue, until the next turn") {
    Scene s;
    CHECK_FALSE(s.finder.is_excluded("new", s.now).has_value());
    CHECK(s.turns() == Names{"new"});
    CHECK(s.finder.is_excluded("new", s.now) == false);
    s.finder.turn(s.now);
    CHECK_FALSE(s.finder.is_excluded("new", s.now).has_value());
}

TEST_CASE("plumbing: who does not answer in time, or fails, makes nobody wait") {
    Scene s;
    s.shared->answers = false;
    CHECK_FALSE(s.finder.is_excluded("events", s.now).has_value());
    CHECK(s.finder.turn(s.now).empty());
    s.now += Milliseconds{2'999};
    CHECK(s.finder.turn(s.now).empty());
    s.now += Milliseconds{1};
    CHECK(s.finder.turn(s.now) == Names{"events"});
    CHECK(s.finder.is_excluded("events", s.now) == false);

    Scene failing;
    failing.shared->fails = true;
    CHECK_FALSE(failing.finder.is_excluded("events", failing.now).has_value());
    CHECK(failing.turns() == Names{"events"});
    failing.finder.turn(failing.now);
    CHECK(failing.finder.is_excluded("events", failing.now) == false);
    failing.now += Milliseconds{60'000};
    CHECK_FALSE(failing.finder.is_excluded("events", failing.now).has_value());
}

TEST_CASE("plumbing: one name after the other that is not known makes no look after the other") {
    Scene s;
    CHECK_FALSE(s.finder.is_excluded("made up 0", s.now).has_value());
    CHECK(s.turns() == Names{"made up 0"});
    for (int i = 1; i < 1'000; ++i) {
        s.now += Milliseconds{10};
        s.finder.is_excluded("made up " + std::to_string(i), s.now);
        s.finder.turn(s.now);
    }
    s.finder = PlumbingFinder{};  // what was begun has asked by then: its thread is joined
    CHECK(s.shared->asked <= 11);
}

TEST_CASE("plumbing: what was asked for while nobody answered makes nobody ask again at once") {
    Scene s;
    s.shared->fails = true;
    s.shared->answers = false;
    CHECK_FALSE(s.finder.is_excluded("events", s.now).has_value());
    CHECK(s.finder.turn(s.now).empty());
    s.now += Milliseconds{10};
    CHECK_FALSE(s.finder.is_excluded("orders", s.now).has_value());
    s.shared->answers = true;
    CHECK(s.turns() == Names{"events", "orders"});
    CHECK_FALSE(s.finder.awaited());
    CHECK(s.shared->asked == 1);
}

TEST_CASE("plumbing: where there is nobody to ask every queue is a work queue, also what was awaited") {
    CHECK(PlumbingFinder{}.is_excluded("events", {}) == false);
    Scene s;
    CHECK_FALSE(s.finder.is_excluded("events", s.now).has_value());
    s.finder.ask_anew({});
    CHECK(s.finder.turn(s.now) == Names{"events"});
    CHECK(s.finder.is_excluded("events", s.now) == false);
}

}  // namespace retryd::daemon::plumbing_finder_test
