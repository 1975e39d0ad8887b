#include "relay/in_flight.h"

#include <memory>
#include <string>
#include <vector>

#include "relay/routes.h"
#include "support/catch.h"

namespace retryd::relay::in_flight_test {
namespace {

using Tags = std::vector<core::DeliveryTag>;

Pending pending(core::DeliveryTag tag, const std::shared_ptr<Target>& target = nullptr,
                std::uint64_t published_as = 0) {
    Pending made;
    made.tag = tag;
    made.target = target;
    made.published_as = published_as;
    return made;
}

std::vector<core::DeliveryTag> confirm(Unconfirmed& unconfirmed, PublishSeq seq, bool multiple) {
    std::vector<Pending> answered;
    unconfirmed.confirm(seq, multiple, answered);
    std::vector<core::DeliveryTag> tags;
    for (const Pending& one : answered)
        tags.push_back(one.tag);
    return tags;
}

}  // namespace

TEST_CASE("publications are numbered from 1 in the order of sending") {
    Unconfirmed unconfirmed;
    CHECK(unconfirmed.empty());
    CHECK(unconfirmed.add(pending(7)) == 1);
    CHECK(unconfirmed.add(pending(9)) == 2);
    CHECK(unconfirmed.size() == 2);
}

TEST_CASE("a confirm answers its own publication only") {
    Unconfirmed unconfirmed;
    for (core::DeliveryTag tag = 11; tag <= 14; ++tag)
        unconfirmed.add(pending(tag));
    CHECK(confirm(unconfirmed, 2, false) == Tags{12});
    CHECK(unconfirmed.size() == 3);
}

TEST_CASE("a confirm with multiple answers all up to its number that are still open, in order") {
    Unconfirmed unconfirmed;
    for (core::DeliveryTag tag = 11; tag <= 14; ++tag)
        unconfirmed.add(pending(tag));
    confirm(unconfirmed, 2, false);
    CHECK(confirm(unconfirmed, 3, true) == Tags{11, 13});
    CHECK(confirm(unconfirmed, 4, true) == Tags{14});
    CHECK(unconfirmed.empty());
}

TEST_CASE("a number is answered once, and unknown ones are ignored") {
    Unconfirmed unconfirmed;
    unconfirmed.add(pending(1));
    unconfirmed.add(pending(2));
    CHECK(confirm(unconfirmed, 2, false) == Tags{2});
    CHECK(confirm(unconfirmed, 2, false).empty());
    CHECK(confirm(unconfirmed, 0, false).empty());
    CHECK(confirm(unconfirmed, 3, true).empty());
    CHECK(unconfirmed.size() == 1);
    CHECK(confirm(unconfirmed, 1, false) == Tags{1});
    CHECK(confirm(unconfirmed, 1, true).empty());
}

TEST_CASE("numbers go on after everything was answered") {
    Unconfirmed unconfirmed;
    unconfirmed.add(pending(1));
    confirm(unconfirmed, 1, true);
    CHECK(unconfirmed.add(pending(2)) == 2);
    CHECK(confirm(unconfirmed, 2, false) == Tags{2});
}

TEST_CASE("a return puts under suspicion what is unconfirmed with its exchange and key, and nothing else") {
    Unconfirmed unconfirmed;
    const auto one = std::make_shared<Target>();
    const auto other = std::make_shared<Target>();
    const std::uint64_t gone = hash_of_address("team", "dead");
    const std::uint64_t there = hash_of_address("team", "alive");
    unconfirmed.add(pending(1, one, gone));
    unconfirmed.add(pending(2, one, there));
    unconfirmed.add(pending(3, one, gone));
    unconfirmed.add(pending(4, other, gone));  // two ways may lead to the same address
    std::vector<Pending> answered;
    unconfirmed.confirm(1, false, answered);
    CHECK(unconfirmed.mark_returned(gone) == std::vector{one, other});
    unconfirmed.add(pending(5, one, gone));
    unconfirmed.confirm(5, true, answered);
    REQUIRE(answered.size() == 5);
    CHECK_FALSE(answered[0].returned);
    CHECK_FALSE(answered[1].returned);
    CHECK(answered[2].returned);
    CHECK(answered[3].returned);
    CHECK_FALSE(answered[4].returned);
}

TEST_CASE("addresses that differ in exchange or key differ") {
    CHECK(hash_of_address("", "a") != hash_of_address("a", ""));
    CHECK(hash_of_address("a", "b") != hash_of_address("b", "a"));
    CHECK(hash_of_address("ab", "c") != hash_of_address("a", "bc"));
}

TEST_CASE("an abandoned channel gives all that was unanswered, and the next publication is number 1") {
    Unconfirmed unconfirmed;
    for (core::DeliveryTag tag = 1; tag <= 3; ++tag)
        unconfirmed.add(pending(tag));
    std::vector<Pending> answered;
    unconfirmed.confirm(2, false, answered);
    const auto lost = unconfirmed.abandon();
    REQUIRE(lost.size() == 2);
    CHECK(lost[0].tag == 1);
    CHECK(lost[1].tag == 3);
    CHECK(unconfirmed.empty());
    CHECK_FALSE(unconfirmed.oldest());
    CHECK(unconfirmed.add(pending(4)) == 1);
}

}  // namespace retryd::relay::in_flight_test
