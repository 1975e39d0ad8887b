// The one exception type of this folder: the text is for the operator and says cause, consequence and remedy.
#pragma once

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "config/settings.h"

namespace retryd::http {

class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// One HTTP request, GET or PUT, with basic authentication, bounded in time and size. Only this folder sees libcurl.

struct Request {
    std::string url;
    std::string username;
    std::string password;
    config::Tls tls;  // for https://
    std::chrono::milliseconds connect_timeout{5'000};
    std::chrono::milliseconds timeout{15'000};  // for all of it
    std::size_t largest_body = std::size_t{64} * 1024 * 1024;
};

struct Response {
    int status = 0;
    std::string body;
};

/// Follows no redirect, asks no proxy. Throws Error where no whole answer comes; its text is the cause alone: what it
/// means, the caller knows.
Response get(const Request& request);

/// The same, with a body.
Response put(const Request& request, const std::string& json);

/// As one segment of a URL's path.
std::string percent_encoded(const std::string& text);

}  // namespace retryd::http
