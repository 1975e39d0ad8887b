// `retryd check --schema`: the configuration's JSON Schema, for editors.
#pragma once

#include <iosfwd>

namespace retryd::commands {

/// A schema of draft 7, made of the same description as the reader. It cannot say all that the reader knows: what
/// depends on two keys at once, and the bounds of durations and sizes, are the reader's alone.
void print_schema(std::ostream& out);

}  // namespace retryd::commands
