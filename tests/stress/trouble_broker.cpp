// What happens to the broker.
#include "stress/trouble.h"

namespace retryd::stress {
namespace {

using test::control_broker;
using test::rabbitmqctl;

bool restart(Stage& stage) {
    stage.without_classic_deaths([&] {
        stage.wait_up_to(500);
        control_broker("restart");
    });
    return true;
}

bool kill(Stage& stage) {
    stage.without_classic_deaths([&] {
        stage.wait_up_to(500);
        control_broker("kill");
        stage.wait_up_to(1'000);
        control_broker("start");
    });
    return true;
}

bool memory_alarm(Stage& stage) {
    rabbitmqctl("set_vm_memory_high_watermark 0.00001");
    stage.wait_up_to(2'000);
    rabbitmqctl("set_vm_memory_high_watermark 0.8");
    return true;
}

/// None at all, none to write, or none to declare.
bool no_permission(Stage& stage) {
    static const std::vector<std::string> less{"'' '' ''", "'.*' '' '.*'", "'' '.*' '.*'"};
    const std::string user = " -p " + vhost + " " + daemon_user + " ";
    rabbitmqctl("set_permissions" + user + less[static_cast<std::size_t>(stage.pick(0, 2))]);
    stage.wait_up_to(1'500);
    rabbitmqctl("set_permissions" + user + "'.*' '.*' '.*'");
    return true;
}

}  // namespace

std::vector<Trouble> troubles_of_the_broker() {
    return {{"broker restarted", restart},
            {"broker killed", kill},
            {"memory alarm", memory_alarm},
            {"permissions taken away", no_permission}};
}

}  // namespace retryd::stress
