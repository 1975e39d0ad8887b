// What an operator can do about a fault of the broker or the network.
#pragma once

#include <string>

#include "amqp/error.h"

namespace retryd::amqp {

std::string remedy(Error::Kind kind);

/// What becomes of rejected messages meanwhile.
std::string consequence(Error::Kind kind);

}  // namespace retryd::amqp
