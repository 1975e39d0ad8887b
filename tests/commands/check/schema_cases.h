// Small files on which the schema and the reader must agree.
#pragma once

#include <string>
#include <vector>

namespace retryd::commands {

struct SchemaCase {
    std::string what;
    bool good = false;
    std::string text;
};

std::vector<SchemaCase> good_cases();
/// At least one for each kind of error that a schema can express.
std::vector<SchemaCase> broken_cases();

}  // namespace retryd::commands
