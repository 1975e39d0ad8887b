// The status page: one file, built in.
#pragma once

#include <string_view>

namespace retryd::http {

/// src/http/page/index.html as it was when retryd was built, with its style and scripts in it.
std::string_view page();

}  // namespace retryd::http
