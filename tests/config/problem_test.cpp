// What a problem's text is made of: the nearest right name, characters that are counted and cut.
#include "config/problem.h"

#include "loading.h"

namespace retryd::config::problem_test {

TEST_CASE("the nearest name is the one with the fewest slips, if it is near at all") {
    const std::vector<std::string> names{"prefetch", "prefetch_bytes", "queue", "queue_type", "exchange"};
    CHECK(nearest("prefetsh", names) == "prefetch");
    CHECK(nearest("perfetch", names) == "prefetch");
    CHECK(nearest("prefetchbytes", names) == "prefetch_bytes");
    CHECK(nearest("Prefetch-Bytes", names) == "prefetch_bytes");
    CHECK(nearest("qeue", names) == "queue");
    CHECK(nearest("queues", names) == "queue");
    CHECK_FALSE(nearest("bind", names).has_value());
    CHECK_FALSE(nearest("", names).has_value());
    CHECK_FALSE(nearest(std::string(100'000, 'x'), names).has_value());
    CHECK_FALSE(nearest("b", {"a"}).has_value());
}

}  // namespace retryd::config::problem_test
