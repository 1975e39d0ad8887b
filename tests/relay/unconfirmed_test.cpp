#include "relay/unconfirmed.h"

#include "relay/routes.h"
#include "support/catch.h"

namespace retryd::relay::in_flight_test {
namespace {

Pending pending(core::DeliveryTag tag, const std::shared_ptr<Target>& target = nullptr,
                std::uint64_t published_as = 0) {
    Pending made;
    made.tag = tag;
    made.target = target;
    made.published_as = published_as;
    return made;
}

std::vector<core::DeliveryTag> confirm(Unconfirmed& in_flight, PublishSeq seq, bool multiple) {
    std::vector<Pending> settled;
    in_flight.confirm(seq, multiple, settled);
    std::vector<core::DeliveryTag> tags;
    for (const Pending& one : settled)
        tags.push_back(one.tag);
    return tags;
}

using Tags = std::vector<core::DeliveryTag>;

}  // namespace

TEST_CASE("publications are numbered from 1 in the order of sending") {
    Unconfirmed in_flight;
    CHECK(in_flight.empty());
    CHECK(in_flight.add(pending(7)) == 1);
    CHECK(in_flight.add(pending(9)) == 2);
    CHECK(in_flight.size() == 2);
}

TEST_CASE("a confirm settles its own publication only") {
    Unconfirmed in_flight;
    for (core::DeliveryTag tag = 11; tag <= 14; ++tag)
        in_flight.add(pending(tag));
    CHECK(confirm(in_flight, 2, false) == Tags{12});
    CHECK(in_flight.size() == 3);
}

TEST_CASE("a confirm with multiple settles all up to its number that are still open, in order") {
    Unconfirmed in_flight;
    for (core::DeliveryTag tag = 11; tag <= 14; ++tag)
        in_flight.add(pending(tag));
    confirm(in_flight, 2, false);
    CHECK(confirm(in_flight, 3, true) == Tags{11, 13});
    CHECK(confirm(in_flight, 4, true) == Tags{14});
    CHECK(in_flight.empty());
}

TEST_CASE("a number is settled once, and unknown ones are ignored") {
    Unconfirmed in_flight;
    in_flight.add(pending(1));
    in_flight.add(pending(2));
    CHECK(confirm(in_flight, 2, false) == Tags{2});
    CHECK(confirm(in_flight, 2, false).empty());
    CHECK(confirm(in_flight, 0, false).empty());
    CHECK(confirm(in_flight, 3, true).empty());
    CHECK(in_flight.size() == 1);
    CHECK(confirm(in_flight, 1, false) == Tags{1});
    CHECK(confirm(in_flight, 1, true).empty());
}

TEST_CASE("numbers go on after everything was settled") {
    Unconfirmed in_flight;
    in_flight.add(pending(1));
    confirm(in_flight, 1, true);
    CHECK(in_flight.add(pending(2)) == 2);
    CHECK(confirm(in_flight, 2, false) == Tags{2});
}

TEST_CASE("a return puts under suspicion what is unconfirmed with its exchange and key, and nothing else") {
    Unconfirmed in_flight;
    const auto one = std::make_shared<Target>();
    const auto other = std::make_shared<Target>();
    const std::uint64_t gone = hash_of_address("team", "dead");
    const std::uint64_t there = hash_of_address("team", "alive");
    in_flight.add(pending(1, one, gone));
    in_flight.add(pending(2, one, there));
    in_flight.add(pending(3, one, gone));
    in_flight.add(pending(4, other, gone));  // two ways may lead to the same address
    std::vector<Pending> settled;
    in_flight.confirm(1, false, settled);
    CHECK(in_flight.mark_returned(gone) == std::vector{one, other});
    in_flight.add(pending(5, one, gone));
    in_flight.confirm(5, true, settled);
    REQUIRE(settled.size() == 5);
    CHECK_FALSE(settled[0].returned);
    CHECK_FALSE(settled[1].returned);
    CHECK(settled[2].returned);
    CHECK(settled[3].returned);
    CHECK_FALSE(settled[4].returned);
}

TEST_CASE("addresses that differ in exchange or key differ") {
    CHECK(hash_of_address("", "a") != hash_of_address("a", ""));
    CHECK(hash_of_address("a", "b") != hash_of_address("b", "a"));
    CHECK(hash_of_address("ab", "c") != hash_of_address("a", "bc"));
}

TEST_CASE("an abandoned channel gives all that was unsettled, and the next publication is number 1") {
    Unconfirmed in_flight;
    for (core::DeliveryTag tag = 1; tag <= 3; ++tag)
        in_flight.add(pending(tag));
    std::vector<Pending> settled;
    in_flight.confirm(2, false, settled);
    const auto lost = in_flight.abandon();
    REQUIRE(lost.size() == 2);
    CHECK(lost[0].tag == 1);
    CHECK(lost[1].tag == 3);
    CHECK(in_flight.empty());
    CHECK_FALSE(in_flight.oldest());
    CHECK(in_flight.add(pending(4)) == 1);
}

}  // namespace retryd::relay::in_flight_test
