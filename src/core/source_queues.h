// Which queues are sources under a policy. Beside core/policy.h, since most policies have none: what every message
// asks of its policy stays as short as it is.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/policy.h"

namespace retryd::core {

/// What is put there is taken out by retryd; also where it is left out of those that a glob finds, as one that is
/// exclusive.
bool is_source(const Policy& policy, std::string_view queue);
/// The place in `sources` of the first that has this name, or matches it; nothing for a queue of our own.
std::optional<std::size_t> source_of(const Policy& policy, std::string_view queue);
/// Whether a message of that source may name that work queue: false only where another one, or none, is certain.
bool may_name(const Source& source, std::string_view work_queue);
/// Whether what fails there may come by any of the sources.
bool may_come_by_source(const Policy& policy, std::string_view work_queue);
/// Whether its entry says that it comes by a source alone.
bool comes_by_source_alone(const Policy& policy, std::string_view work_queue);
/// Whether queues have to be looked for.
bool has_source_globs(const Policy& policy);

}  // namespace retryd::core
