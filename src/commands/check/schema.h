// `retryd check --schema`: the configuration's JSON Schema, for editors.
#pragma once

#include <iosfwd>

namespace retryd::commands {

/// A schema of draft 7, made of the description of the keys (config/keys.h). The reader knows more than it can express:
/// what depends on two keys at once, and the bounds of durations and sizes.
void print_schema(std::ostream& out);

}  // namespace retryd::commands
