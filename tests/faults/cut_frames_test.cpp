// A connection that ends, falls silent or garbles in the middle of a frame.
#include "faults/through_faults.h"

using namespace retryd::test;

namespace {

void check_survives(ThroughFaults& s, const When& when, const Fault& fault) {
    s.start();
    const auto set = s.network.on(when, fault);
    s.reject_many(200);
    REQUIRE(s.network.await_matched(set, when.nth));
    s.check_nothing_is_lost();
    s.check_goes_on();
    CHECK(s.reconnects_as_often_as(1));
    s.stop();
}

}  // namespace

TEST_CASE("a connection that is cut in the middle of a frame loses nothing, and the daemon goes on") {
    ThroughFaults s;
    SECTION("of a delivery") {
        check_survives(s, delivery(70), fault::cut_in_the_middle());
    }
    SECTION("of a publication") {
        check_survives(s, publication(70), fault::cut_in_the_middle());
    }
    SECTION("of a confirm") {
        check_survives(s, confirm(), fault::cut_in_the_middle());
    }
    SECTION("of an ack") {
        check_survives(s, ack(), fault::cut_in_the_middle());
    }
}

TEST_CASE("half a frame and then silence is noticed by the heartbeat, and nothing is lost", "[slow]") {
    ThroughFaults s;
    s.config.heartbeat = "2s";  // with 1 s a busy machine is silent for as long by itself
    SECTION("of a delivery") {
        check_survives(s, delivery(70), fault::half_then_silence());
    }
    SECTION("of a publication") {
        check_survives(s, publication(70), fault::half_then_silence());
    }
    SECTION("of a confirm") {
        check_survives(s, confirm(), fault::half_then_silence());
    }
}

TEST_CASE("a garbled frame from the broker costs a connection, and no message", "[slow]") {
    ThroughFaults s;
    SECTION("a delivery's end") {
        check_survives(s, delivery(70), fault::wrong_end());
    }
    SECTION("a delivery's size") {
        check_survives(s, delivery(70), fault::wrong_size());
    }
    SECTION("a delivery's header") {
        When header = delivery(70);
        header.type = FrameType::header;
        check_survives(s, header, fault::wrong_end());
    }
    SECTION("a confirm's end") {
        check_survives(s, confirm(), fault::wrong_end());
    }
    SECTION("a confirm's size") {
        check_survives(s, confirm(), fault::wrong_size());
    }
    SECTION("a confirm's method") {
        check_survives(s, confirm(), fault::unknown_method());
    }
}
