// A single HTTP request (GET, PUT or POST) with basic authentication, limited in time and size: to RabbitMQ's
// management API, and from `retryd status` to the daemon. Only this file and its .cpp know libcurl.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>

#include "config/settings.h"
#include "core/time.h"

namespace retryd::http {

/// The one exception type of this folder; its text is for the operator.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct Request {
    std::string url;
    std::string username;
    std::string password;
    config::Tls tls;  // for https://
    std::chrono::milliseconds connect_timeout{5'000};
    std::chrono::milliseconds timeout{15'000};  // of the whole request
    std::size_t largest_body = std::size_t{64} * 1024 * 1024;
};

struct Response {
    int status = 0;
    std::string body;
    std::optional<core::WallTime> date = {};  // the server's clock, to the second; nothing if it did not send it
};

/// Follows no redirects and uses no proxy. Throws Error if there is no complete answer; its text is only the cause,
/// since the caller knows consequence and remedy.
Response get(const Request& request);

/// The same, with `json` as the request's body.
Response put(const Request& request, const std::string& json);
Response post(const Request& request, const std::string& json);

/// Encodes `text` as one segment of a URL's path.
std::string percent_encoded(const std::string& text);

}  // namespace retryd::http
