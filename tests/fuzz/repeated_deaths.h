// A message that dies again each time it comes back to its work queue, until it is parked.
#pragma once

#include "fuzz/bytes.h"
#include "fuzz/checked_flow.h"

namespace retryd::fuzz {

/// Hands the message to the flow. As long as it is retried it dies again in its work queue, with `forged` behind the
/// broker's own entry of x-death. Ends, since the attempt grows.
void retry_until_parked(CheckedFlow& flow, core::Message message, const core::Array& forged, Bytes& choices);

}  // namespace retryd::fuzz
