// The keys of errors:, ladders:, queues: and parking:; the other half of keys.cpp.
#pragma once

#include "config/section.h"
#include "config/written.h"

namespace retryd::config {

void describe_errors(Section& file, Written& written);
void describe_ladders(Section& file, Written& written);
void describe_queues(Section& file, Written& written);
void describe_parking(Section& file, Written& written);

}  // namespace retryd::config
