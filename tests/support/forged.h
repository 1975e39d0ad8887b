// Forged headers, which anyone can write who may publish to the error exchange.
#pragma once

#include <string>

#include "support/value.h"

namespace retryd::test {

/// An entry of x-death as the broker writes it.
Value death_entry(const std::string& queue, const std::string& reason = "rejected", std::int64_t count = 1);

/// A header table with an x-death of that one entry, and more.
Table died_in(const std::string& queue, Table more = {});

/// A table in a table in a table …
Value nested_tables(int levels);
Value nested_arrays(int levels);

}  // namespace retryd::test
