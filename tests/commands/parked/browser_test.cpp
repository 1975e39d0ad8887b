#include "commands/parked/browser.h"

#include <cstddef>
#include <string>

#include "support/catch.h"

// How parked messages are counted by work queue and reason.

namespace retryd::commands::browser_test {

TEST_CASE("parked groups: made-up reasons and queues end in one group; what is proven has its own all the same") {
    ParkedGroups groups;
    const core::Message message;
    const auto park = [&](const std::string& queue, const std::string& reason, bool proven) {
        admin::Parked parked;
        parked.queue = queue;
        parked.reason = reason;
        parked.by_retryd = proven;
        groups.add(parked, message);
    };
    constexpr std::size_t more = ParkedGroups::most + 500;
    for (std::size_t i = 0; i < more; ++i)
        park("email" + std::to_string(i), "reason " + std::to_string(i), false);
    park("invoices", "too-old", true);
    park("email1", "reason 1", false);
    CHECK(groups.messages() == more + 2);
    CHECK(groups.all().size() == ParkedGroups::most + 2);
    CHECK(groups.all().at({"", ParkedGroups::others}).messages == 500);
    CHECK(groups.all().at({"invoices", "too-old"}).messages == 1);
    CHECK(groups.all().at({"email1", "reason 1"}).messages == 2);
}

}  // namespace retryd::commands::browser_test
