// Requests to RabbitMQ's management API, and what an operator is told when one fails.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "config/settings.h"
#include "core/time.h"
#include "http/client.h"

namespace retryd::http {

using Json = nlohmann::json;

namespace http_status {
inline constexpr int fine = 200;
inline constexpr int created = 201;
inline constexpr int no_content = 204;
inline constexpr int bad_request = 400;
inline constexpr int unauthorised = 401;
inline constexpr int forbidden = 403;
inline constexpr int not_found = 404;
inline constexpr int failed = 500;
inline constexpr int unavailable = 503;
}  // namespace http_status

/// Sends requests to the API under /api/, one after the other, as configured. Every call may throw Error. Keeps
/// references to its arguments.
class ManagementRequests {
  public:
    ManagementRequests(const config::Management& settings, const config::Tls& tls, const std::string& vhost)
        : settings_(settings), tls_(tls), vhost_(vhost) {}

    /// The list at that path; nothing if the path is not found.
    std::optional<Json> list(const std::string& path) const;
    /// The same for a path that every vhost has: if it is not found, the vhost does not exist.
    Json list_of_vhost(const std::string& path) const;
    /// The object at that path; nothing if it is not found.
    std::optional<Json> object(const std::string& path) const;
    /// What is at that path; nothing if our user may not read it, null if it is not found.
    std::optional<Json> if_permitted(const std::string& path) const;
    /// The answer of a health check, whether passed or failed; nothing if our user may not ask, or it is not found.
    std::optional<Json> health(const std::string& path) const;

    Response put(const std::string& path, const std::string& json) const;
    Response post(const std::string& path, const std::string& json) const;

    /// The server's clock, which every answer has.
    std::optional<core::WallTime> clock() const { return get("whoami").date; }

  private:
    Request request_to(const std::string& path) const;
    Response get(const std::string& path) const;
    std::optional<Json> read(const std::string& path) const;

    std::string no_vhost() const;
    std::string unreachable(const std::string& cause) const;
    std::string not_let_in(const Response& response) const;
    std::string unexpected_status(int status) const;
    std::string not_json() const;

    const config::Management& settings_;
    const config::Tls& tls_;
    const std::string& vhost_;
};

/// The text of that name; empty if there is none.
std::string text_in(const Json& object, const char* key);

/// The status, and the broker's own text in its answer.
std::string reason_in(const Response& response);

}  // namespace retryd::http
