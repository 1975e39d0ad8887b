// Disruptions of the broker.
#include "stress/disruption.h"

namespace retryd::stress {
namespace {

using test::control_broker;
using test::rabbitmqctl;

bool restart(TestBed& bed) {
    bed.without_classic_deaths([&] {
        bed.wait_up_to(500);
        control_broker("restart");
    });
    return true;
}

bool kill(TestBed& bed) {
    bed.without_classic_deaths([&] {
        bed.wait_up_to(500);
        control_broker("kill");
        bed.wait_up_to(1'000);
        control_broker("start");
    });
    return true;
}

bool memory_alarm(TestBed& bed) {
    rabbitmqctl("set_vm_memory_high_watermark 0.00001");
    bed.wait_up_to(2'000);
    rabbitmqctl("set_vm_memory_high_watermark 0.8");
    return true;
}

/// No permission at all, none to write, or none to configure.
bool no_permission(TestBed& bed) {
    static const std::vector<std::string> less{"'' '' ''", "'.*' '' '.*'", "'' '.*' '.*'"};
    const std::string user = " -p " + vhost + " " + daemon_user + " ";
    rabbitmqctl("set_permissions" + user + less[static_cast<std::size_t>(bed.pick(0, 2))]);
    bed.wait_up_to(1'500);
    rabbitmqctl("set_permissions" + user + "'.*' '.*' '.*'");
    return true;
}

}  // namespace

std::vector<Disruption> disruptions_of_the_broker() {
    return {{"broker restarted", restart},
            {"broker killed", kill},
            {"memory alarm", memory_alarm},
            {"permissions taken away", no_permission}};
}

}  // namespace retryd::stress
