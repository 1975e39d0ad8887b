#include "daemon/checks.h"

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "support/await.h"
#include "support/catch.h"

namespace retryd::daemon::checks_test {
namespace {

using admin::CheckScope;
using admin::Diagnosis;
using admin::Finding;
using admin::FindingCode;
using test::await;

/// What the checks find, which a test changes while they are made.
struct Found {
    std::mutex mutex;
    Diagnosis policies;
    std::string fault;  // of everything else
    int looks = 0;

    Diagnosis look(CheckScope scope) {
        const std::lock_guard lock(mutex);
        ++looks;
        if (scope == CheckScope::policies) return policies;
        if (!fault.empty()) throw std::runtime_error(fault);
        return {};
    }
    void change(Diagnosis to, const std::string& new_fault = "") {
        const std::lock_guard lock(mutex);
        policies = std::move(to);
        fault = new_fault;
    }
    int count() {
        const std::lock_guard lock(mutex);
        return looks;
    }
};

Diagnosis lost(const std::vector<std::string>& queues) {
    Diagnosis diagnosis;
    for (const std::string& queue : queues)
        diagnosis.findings.emplace_back(FindingCode::no_dead_letter_exchange, queue + " lost it",
                                        admin::FindingDetails{.name = queue});
    return diagnosis;
}

struct Scene {
    std::shared_ptr<Found> found = std::make_shared<Found>();
    PeriodicChecks checks{[found = found](const config::Settings&, const config::Endpoint&, CheckScope scope) {
                              return found->look(scope);
                          },
                          {.soon = core::Milliseconds{500}}};
    BrokerTarget target{std::make_shared<config::Settings>(), {}};
    std::vector<std::string> told;

    /// Another configuration: everything is looked at anew.
    void reload() {
        target.settings = std::make_shared<config::Settings>();
        checks.look_at(target);
    }
    /// `+` began, `-` is over.
    bool await_news(const std::vector<std::string>& wanted) {
        told.clear();
        return await([&] {
            for (const PeriodicChecks::News& news : checks.take_news())
                told.push_back((news.begins ? "+ " : "- ") + news.finding.cause);
            return told == wanted;
        });
    }
    /// `sms` has lost its exchange, and both parts have been looked at; but the next look cannot be made.
    void find_and_then_see_nothing() {
        found->change(lost({"sms"}));
        checks.look_at(target);
        REQUIRE(await_news({"+ sms lost it"}));
        REQUIRE(await([&] { return found->count() == 2; }));
        found->change({{}, {"whether policies harm: timed out"}});
    }
};

}  // namespace

TEST_CASE("checks: none are made without a target") {
    Scene s;
    CHECK_FALSE(s.checks.status());
    s.checks.look_again();
    CHECK(s.found->count() == 0);
}

TEST_CASE("checks: a finding is told when it begins and when it is over, and stands in the status meanwhile") {
    Scene s;
    s.found->change(lost({"email", "sms"}));
    s.checks.look_at(s.target);
    REQUIRE(s.await_news({"+ email lost it"}));
    const auto status = s.checks.status();
    REQUIRE(status);
    REQUIRE(status->findings.size() == 1);
    CHECK(status->findings[0].code == "no-dead-letter-exchange");
    CHECK(status->findings[0].severity == "problem");
    CHECK(status->findings[0].names == std::vector<std::string>{"email", "sms"});
    CHECK(status->findings[0].since > core::WallTime{});
    CHECK(status->checked);
    s.found->change(lost({"sms"}));
    s.reload();
    REQUIRE(await([&] { return s.checks.status()->findings.at(0).names.size() == 1; }));
    CHECK(s.checks.status()->findings[0].since == status->findings[0].since);
    CHECK(s.checks.take_news().empty());
    s.found->change({});
    s.reload();
    CHECK(s.await_news({"- sms lost it"}));
    CHECK(s.checks.status()->findings.empty());
}

TEST_CASE("checks: what cannot be looked at is a finding, the same one whatever the reason") {
    Scene s;
    s.found->change({}, "refused");
    s.checks.look_at(s.target);
    REQUIRE(s.await_news({"+ cannot tell whether the broker has all that retryd needs: refused"}));
    s.found->change({{}, {"whether policies harm: timed out"}}, "timed out");
    s.reload();
    REQUIRE(s.await_news({"+ cannot tell whether policies harm: timed out"}));
    CHECK(s.checks.status()->findings.size() == 2);
    s.found->change({});
    s.reload();
    CHECK(await([&] { return s.checks.status()->findings.empty(); }));
}

TEST_CASE("checks: what was found is not over because nobody can look, but once somebody has looked again") {
    Scene s;
    s.find_and_then_see_nothing();
    s.checks.look_again();
    REQUIRE(s.await_news({"+ cannot tell whether policies harm: timed out"}));
    REQUIRE(await([&] { return s.found->count() == 4; }));
    CHECK(s.checks.status()->findings.size() == 2);
    s.found->change(lost({"email"}));
    s.checks.look_again();
    CHECK(await([&] { return s.checks.status()->findings.size() == 1; }));
    CHECK(s.checks.status()->findings[0].names == std::vector<std::string>{"email"});
}

TEST_CASE(
    "checks: a reload, or another node, while nobody can look: what was found is not over; with other access it is") {
    Scene s;
    s.find_and_then_see_nothing();
    s.target.endpoint.host = "another";
    s.reload();
    REQUIRE(s.await_news({"+ cannot tell whether policies harm: timed out"}));
    REQUIRE(await([&] { return s.found->count() == 4; }));
    CHECK(s.checks.status()->findings.size() == 2);
    auto settings = std::make_shared<config::Settings>();
    settings->management.emplace();
    s.target.settings = std::move(settings);
    s.checks.look_at(s.target);
    CHECK(s.await_news({"- sms lost it"}));
}

TEST_CASE("checks: what is found by a configuration that is in force no more does not count") {
    Scene s;
    s.checks.look_at(s.target);
    REQUIRE(await([&] { return s.checks.status().has_value(); }));
    s.checks.hold();
    s.found->change(lost({"email"}));
    s.checks.look_again();
    CHECK(s.checks.status());
    s.reload();
    CHECK(s.await_news({"+ email lost it"}));
}

TEST_CASE("checks: something odd has them made again soon") {
    Scene s;
    s.checks.look_at(s.target);
    REQUIRE(await([&] { return s.found->count() == 2; }));
    s.checks.look_at(s.target);
    s.checks.look_again();
    s.checks.look_again();
    CHECK(await([&] { return s.found->count() == 4; }));
}

TEST_CASE("checks: a look that hangs does not hold up the end") {
    auto released = std::make_shared<std::atomic<bool>>(false);
    auto looking = std::make_shared<std::atomic<bool>>(false);
    {
        PeriodicChecks checks(
            [=](const config::Settings&, const config::Endpoint&, CheckScope) {
                *looking = true;
                await([&] { return released->load(); });
                return Diagnosis{};
            },
            {.patience = core::Milliseconds{50}});
        checks.look_at({std::make_shared<config::Settings>(), {}});
        REQUIRE(await([&] { return looking->load(); }));
    }
    *released = true;
}

TEST_CASE("checks: what a check finds that runs as a pause begins is not told; it is made again after the pause") {
    std::atomic<int> looks{0};
    std::atomic<bool> goes_on{false};
    PeriodicChecks checks([&](const config::Settings&, const config::Endpoint&, CheckScope scope) {
        if (scope != CheckScope::policies || ++looks > 1) return Diagnosis{};
        await([&] { return goes_on.load(); });
        return lost({"sms"});
    });
    checks.look_at({std::make_shared<config::Settings>(), {}});
    REQUIRE(await([&] { return looks == 1; }));
    checks.pause(true);
    goes_on = true;
    checks.pause(false);
    CHECK(await([&] { return looks == 2; }));
    CHECK(checks.take_news().empty());
}

}  // namespace retryd::daemon::checks_test
