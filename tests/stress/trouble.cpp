#include "stress/trouble.h"

#include <algorithm>

namespace retryd::stress {

std::vector<Trouble> all_troubles() {
    std::vector<Trouble> all;
    for (const auto& some :
         {troubles_of_retryd(), troubles_of_the_network(), troubles_of_the_broker(), troubles_of_queues()})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

std::vector<Trouble> mild_troubles() {
    static const std::vector<std::string> rough{kill_retryd().name, "terminate", "one of two daemons dies",
                                                "broker restarted", "broker killed"};
    std::vector<Trouble> mild = all_troubles();
    std::erase_if(mild, [](const Trouble& trouble) {
        return std::find(rough.begin(), rough.end(), trouble.name) != rough.end();
    });
    return mild;
}

}  // namespace retryd::stress
