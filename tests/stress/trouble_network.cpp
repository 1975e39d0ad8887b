// What happens between retryd and the broker.
#include "faults/faults.h"
#include "stress/trouble.h"

namespace retryd::stress {
namespace {

using namespace test;

/// The fault at a random one of the next frames of that kind; healed afterwards, and what hangs is cut.
bool at_some(Stage& stage, When when, const Fault& fault, int longest_ms) {
    when.nth = stage.pick(1, 30);
    const std::size_t set = stage.network.on(when, fault);
    const bool happened = stage.network.await_matched(set, when.nth, seconds(5));
    stage.wait_up_to(longest_ms);
    stage.network.heal();
    return happened;
}

bool cut_delivery(Stage& stage) {
    return at_some(stage, delivery(), fault::cut_in_the_middle(), 0);
}

bool cut_publication(Stage& stage) {
    return at_some(stage, publication(), fault::cut_in_the_middle(), 0);
}

bool cut_before_ack(Stage& stage) {
    return at_some(stage, ack(), fault::cut(), 0);
}

bool confirms_lost(Stage& stage) {
    When confirms = confirm();
    confirms.times = 5;
    return at_some(stage, confirms, fault::swallow(), 1'000);
}

bool refused(Stage& stage) {
    return at_some(stage, confirm(), fault::nack(), 0);
}

bool silence(Stage& stage) {
    return at_some(stage, delivery(), fault::half_then_silence(), 6'000);
}

}  // namespace

std::vector<Trouble> troubles_of_the_network() {
    return {{"cut in a delivery", cut_delivery},     {"cut in a publication", cut_publication},
            {"cut before an ack", cut_before_ack},   {"confirms swallowed", confirms_lost},
            {"nack in place of a confirm", refused}, {"silence", silence}};
}

}  // namespace retryd::stress
