// The status page: one file, compiled in.
#pragma once

#include <string>
#include <string_view>

namespace retryd::http {

/// src/http/page/index.html with its style and scripts, as of the build.
std::string_view page();

/// The page's Content-Security-Policy: only its own script and style are allowed, by their hashes, and nothing that a
/// name, header or body may inject. It may only send requests to its own server, and no other page may embed it.
const std::string& page_policy();

}  // namespace retryd::http
