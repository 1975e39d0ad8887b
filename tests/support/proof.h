// The proof that headers are retryd's, for messages that a test writes in retryd's name (src/core/own_headers.h).
#pragma once

#include "support/config_file.h"
#include "support/value.h"

namespace retryd::test {

/// The headers with the proof that a daemon or command with this configuration writes and believes. Those of retryd's
/// may hold texts, integers and times.
Table proven(Table headers, const ConfigFile& config);

}  // namespace retryd::test
