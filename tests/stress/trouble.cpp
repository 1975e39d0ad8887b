#include "stress/trouble.h"

namespace retryd::stress {

std::vector<Trouble> all_troubles() {
    std::vector<Trouble> all;
    for (const auto& some :
         {troubles_of_retryd(), troubles_of_the_network(), troubles_of_the_broker(), troubles_of_queues()})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

}  // namespace retryd::stress
