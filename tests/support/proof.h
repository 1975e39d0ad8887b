// The proof that headers are retryd's, for messages that a test writes in retryd's name (src/core/own_headers.h).
#pragma once

#include <string>
#include <utility>

#include "support/config_file.h"
#include "support/value.h"

namespace retryd::test {

/// The headers with the proof that a daemon or command with this broker and error queue, and no key_file, writes and
/// believes. Those of retryd's may hold texts, integers and times.
Table proven(Table headers, const std::string& uri, const std::string& error_queue);

inline Table proven(Table headers, const ConfigFile& config) {
    return proven(std::move(headers), config.uris.front(), config.error_queue);
}

}  // namespace retryd::test
