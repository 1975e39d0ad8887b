// What happens to retryd itself.
#include "stress/trouble.h"

namespace retryd::stress {
namespace {

bool kill_retryd(Stage& stage) {
    stage.wait_up_to(800);
    stage.first.kill();
    stage.wait_up_to(300);
    stage.first.start();
    return true;
}

bool restart_retryd(Stage& stage) {
    stage.wait_up_to(800);
    stage.first.terminate();
    stage.first.start();
    return true;
}

bool reload(Stage& stage) {
    stage.wait_up_to(800);
    stage.variant = 1 - stage.variant;
    stage.first.reload(stage.yaml());
    return true;
}

bool reload_wrong(Stage& stage) {
    stage.wait_up_to(500);
    stage.first.reload(stage.yaml() + "nonsense: [\n");
    stage.wait_up_to(1'000);
    stage.first.write(stage.yaml());  // a start would refuse the other
    return true;
}

bool one_of_two_dies(Stage& stage) {
    stage.second.write(stage.yaml());
    stage.second.start();
    stage.wait_up_to(4'000);
    if (stage.pick(0, 1) == 0) {
        stage.first.kill();
        stage.wait_up_to(2'000);
        stage.first.start();
        stage.second.terminate();
    } else {
        stage.second.kill();
    }
    return true;
}

}  // namespace

const Trouble& kill_retryd() {
    static const Trouble trouble{"kill", kill_retryd};
    return trouble;
}

std::vector<Trouble> troubles_of_retryd() {
    return {kill_retryd(),
            {"terminate", restart_retryd},
            {"reload", reload},
            {"reload of a wrong file", reload_wrong},
            {"one of two daemons dies", one_of_two_dies}};
}

}  // namespace retryd::stress
