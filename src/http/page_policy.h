// What a browser lets the status page do.
#pragma once

#include <string>

namespace retryd::http {

/// The page's header Content-Security-Policy: its own script and its own style count, by their hashes, and no other one
/// that a stranger's name, header or body might bring into it; it asks its own server alone, and no page may embed it.
const std::string& page_policy();

}  // namespace retryd::http
