// Disruptions between retryd and the broker.
#include "faults/faults.h"
#include "stress/disruption.h"

namespace retryd::stress {
namespace {

using namespace test;

/// Applies the fault to a random one of the next frames of that kind. Heals the network afterwards and cuts what hangs.
bool at_some(TestBed& bed, When when, const Fault& fault, int longest_ms) {
    when.nth = bed.pick(1, 30);
    const std::size_t set = bed.network.on(when, fault);
    const bool happened = bed.network.await_matched(set, when.nth, seconds(5));
    bed.wait_up_to(longest_ms);
    bed.network.heal();
    return happened;
}

bool cut_delivery(TestBed& bed) {
    return at_some(bed, delivery(), fault::cut_in_the_middle(), 0);
}

bool cut_publication(TestBed& bed) {
    return at_some(bed, publication(), fault::cut_in_the_middle(), 0);
}

bool cut_before_ack(TestBed& bed) {
    return at_some(bed, ack(), fault::cut(), 0);
}

bool confirms_lost(TestBed& bed) {
    When confirms = confirm();
    confirms.times = 5;
    return at_some(bed, confirms, fault::swallow(), 1'000);
}

bool refused(TestBed& bed) {
    bed.ledger.parking_may_be_refused();
    return at_some(bed, confirm(), fault::nack(), 0);
}

bool silence(TestBed& bed) {
    return at_some(bed, delivery(), fault::half_then_silence(), 6'000);
}

}  // namespace

std::vector<Disruption> disruptions_of_the_network() {
    return {{"cut in a delivery", cut_delivery},     {"cut in a publication", cut_publication},
            {"cut before an ack", cut_before_ack},   {"confirms swallowed", confirms_lost},
            {"nack in place of a confirm", refused}, {"silence", silence}};
}

}  // namespace retryd::stress
