// Disruptions of retryd itself.
#include "stress/disruption.h"

namespace retryd::stress {
namespace {

bool kill_daemon(TestBed& bed) {
    bed.wait_up_to(800);
    bed.first.kill();
    bed.wait_up_to(300);
    bed.first.start();
    return true;
}

bool terminate_and_start(TestBed& bed) {
    bed.wait_up_to(800);
    bed.first.terminate();
    bed.first.start();
    return true;
}

bool reload(TestBed& bed) {
    bed.wait_up_to(800);
    bed.variant = 1 - bed.variant;
    bed.first.reload(bed.yaml());
    return true;
}

bool reload_wrong(TestBed& bed) {
    bed.wait_up_to(500);
    bed.first.reload(bed.yaml() + "nonsense: [\n");
    bed.wait_up_to(1'000);
    bed.first.write(bed.yaml());  // a start would refuse the other
    return true;
}

bool one_of_two_dies(TestBed& bed) {
    bed.second.write(bed.yaml());
    bed.second.start();
    bed.wait_up_to(4'000);
    if (bed.pick(0, 1) == 0) {
        bed.first.kill();
        bed.wait_up_to(2'000);
        bed.first.start();
        bed.second.terminate();
    } else {
        bed.second.kill();
    }
    return true;
}

}  // namespace

const Disruption& kill_retryd() {
    static const Disruption disruption{"kill", kill_daemon};
    return disruption;
}

std::vector<Disruption> disruptions_of_retryd() {
    return {kill_retryd(),
            {"terminate", terminate_and_start},
            {"reload", reload},
            {"reload of a wrong file", reload_wrong},
            {"one of two daemons dies", one_of_two_dies}};
}

}  // namespace retryd::stress
