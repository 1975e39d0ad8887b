#include "relay/in_flight.h"

#include "relay/routes.h"
#include "support/catch.h"

namespace retryd::relay {
namespace {

Pending pending(core::DeliveryTag tag, const std::shared_ptr<Target>& target = nullptr) {
    Pending made;
    made.tag = tag;
    made.target = target;
    return made;
}

std::vector<core::DeliveryTag> confirm(InFlight& in_flight, PublishSeq seq, bool multiple) {
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
    InFlight in_flight;
    CHECK(in_flight.empty());
    CHECK(in_flight.add(pending(7)) == 1);
    CHECK(in_flight.add(pending(9)) == 2);
    CHECK(in_flight.size() == 2);
}

TEST_CASE("a confirm settles its own publication only") {
    InFlight in_flight;
    for (core::DeliveryTag tag = 11; tag <= 14; ++tag)
        in_flight.add(pending(tag));
    CHECK(confirm(in_flight, 2, false) == Tags{12});
    CHECK(in_flight.size() == 3);
}

TEST_CASE("a confirm with multiple settles all up to its number that are still open, in order") {
    InFlight in_flight;
    for (core::DeliveryTag tag = 11; tag <= 14; ++tag)
        in_flight.add(pending(tag));
    confirm(in_flight, 2, false);
    CHECK(confirm(in_flight, 3, true) == Tags{11, 13});
    CHECK(confirm(in_flight, 4, true) == Tags{14});
    CHECK(in_flight.empty());
}

TEST_CASE("a number is settled once, and unknown ones are ignored") {
    InFlight in_flight;
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
    InFlight in_flight;
    in_flight.add(pending(1));
    confirm(in_flight, 1, true);
    CHECK(in_flight.add(pending(2)) == 2);
    CHECK(confirm(in_flight, 2, false) == Tags{2});
}

TEST_CASE("a return puts every open publication to that queue under suspicion, and no other") {
    const auto gone = std::make_shared<Target>();
    const auto there = std::make_shared<Target>();
    InFlight in_flight;
    in_flight.add(pending(1, gone));
    in_flight.add(pending(2, there));
    in_flight.add(pending(3, gone));
    std::vector<Pending> settled;
    in_flight.confirm(1, false, settled);
    in_flight.mark_returned(*gone);
    in_flight.add(pending(4, gone));
    in_flight.confirm(4, true, settled);
    REQUIRE(settled.size() == 4);
    CHECK_FALSE(settled[0].returned);
    CHECK_FALSE(settled[1].returned);
    CHECK(settled[2].returned);
    CHECK_FALSE(settled[3].returned);
}

}  // namespace retryd::relay
