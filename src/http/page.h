// The status page: one file, built in.
#pragma once

#include <string>
#include <string_view>

namespace retryd::http {

/// src/http/page/index.html as it was when retryd was built, with its style and scripts in it.
std::string_view page();

/// The page's header Content-Security-Policy: its own script and its own style count, by their hashes, and no other one
/// that a stranger's name, header or body might bring into it; it asks its own server alone, and no page may embed it.
const std::string& page_policy();

}  // namespace retryd::http
