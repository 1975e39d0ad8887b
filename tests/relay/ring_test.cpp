#include "relay/ring.h"

#include <memory>
#include <string>

#include "support/catch.h"

namespace retryd::relay::ring_test {

TEST_CASE("ring: what goes in comes out in order, however often it went round and grew meanwhile") {
    Ring<int> ring;
    int pushed = 0;
    int popped = 0;
    const auto check_all = [&] {
        REQUIRE(ring.size() == static_cast<std::size_t>(pushed - popped));
        for (std::size_t i = 0; i < ring.size(); ++i)
            REQUIRE(ring[i] == popped + static_cast<int>(i));
    };
    for (int round = 1; round <= 50; ++round) {
        for (int i = 0; i < round; ++i)
            ring.push_back(pushed++);
        check_all();
        for (int i = 0; i < round / 2; ++i) {
            CHECK(ring.front() == popped++);
            ring.pop_front();
        }
        check_all();
    }
}

TEST_CASE("ring: what an element owned is let go when it leaves, and when all are cleared") {
    const auto owned = std::make_shared<std::string>("owned");
    Ring<std::shared_ptr<std::string>> ring;
    for (int i = 0; i < 40; ++i)
        ring.push_back(owned);
    CHECK(owned.use_count() == 41);
    ring.pop_front();
    CHECK(owned.use_count() == 40);
    ring.clear();
    CHECK(ring.empty());
    CHECK(owned.use_count() == 1);
}

}  // namespace retryd::relay::ring_test
