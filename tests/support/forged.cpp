#include "support/forged.h"

#include <utility>

namespace retryd::test {

Value death_entry(const std::string& queue, const std::string& reason, std::int64_t count) {
    return table({{"count", int64(count)},
                  {"reason", longstr(reason)},
                  {"queue", longstr(queue)},
                  {"time", timestamp(1'700'000'000)},
                  {"exchange", longstr("")},
                  {"routing-keys", array({longstr(queue)})}});
}

Table died_in(const std::string& queue, Table more) {
    more.push_back({"x-death", array({death_entry(queue)})});
    return more;
}

Value nested_tables(int levels) {
    Value value = longstr("deep");
    for (int level = 0; level < levels; ++level) {
        Table outer(1);
        outer[0].name = "n";
        outer[0].value = std::move(value);
        value = table(std::move(outer));
    }
    return value;
}

Value nested_arrays(int levels) {
    Value value = longstr("deep");
    for (int level = 0; level < levels; ++level) {
        Array outer(1);
        outer[0] = std::move(value);
        value = array(std::move(outer));
    }
    return value;
}

}  // namespace retryd::test
