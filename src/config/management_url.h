// Where RabbitMQ's management API is: http://HOST:PORT, https://HOST/PREFIX.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace retryd::config {

/// What is wrong with it ("has no host"), or nothing. Scheme and host, a port and a path if need be; no user, since
/// that has keys of its own, no query, no fragment. Names the part, never what stands in it.
std::optional<std::string> complaint_about_management_url(std::string_view url);

}  // namespace retryd::config
