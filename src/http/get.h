// One HTTP request, GET or PUT, with basic authentication, bounded in time and size. Only this folder sees libcurl.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "config/settings.h"

namespace retryd::http {

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
