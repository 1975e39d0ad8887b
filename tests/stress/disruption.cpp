#include "stress/disruption.h"

#include <algorithm>

namespace retryd::stress {

std::vector<Disruption> all_disruptions() {
    std::vector<Disruption> all;
    for (const auto& some :
         {disruptions_of_retryd(), disruptions_of_the_network(), disruptions_of_the_broker(), disruptions_of_queues()})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

std::vector<Disruption> mild_disruptions() {
    static const std::vector<std::string> rough{kill_retryd().name, "terminate", "one of two daemons dies",
                                                "broker restarted", "broker killed"};
    std::vector<Disruption> mild = all_disruptions();
    std::erase_if(mild, [](const Disruption& disruption) {
        return std::find(rough.begin(), rough.end(), disruption.name) != rough.end();
    });
    return mild;
}

}  // namespace retryd::stress
