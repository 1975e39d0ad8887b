// Coming home and dying again, until it is parked.
#pragma once

#include "fuzz/bytes.h"
#include "fuzz/passage.h"

namespace retryd::fuzz {

/// Carries the message; as long as it is retried it dies again in its work queue, with `forged` behind the broker's own
/// entry of x-death. Ends, since the attempt grows.
void carry_to_the_end(PublishPort& port, core::Message message, const core::Array& forged, Bytes& choices);

}  // namespace retryd::fuzz
