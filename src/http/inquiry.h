// What the parts of the management client share: asking, reading what came, and saying why nothing came.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "config/settings.h"
#include "core/topology.h"
#include "http/get.h"

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
}  // namespace http_status

/// Empty where there is no text of that name.
std::string text_in(const Json& object, const char* key);
/// `arguments`: the texts and the whole numbers among them.
core::Arguments arguments_in(const Json& object);
/// The broker's own words for it, after the status: {"error": …, "reason": …}
std::string reason_in(const Response& response);

/// Everything throws Error. Keeps references to its arguments.
class Inquiry {
  public:
    Inquiry(const config::Management& settings, const config::Tls& tls, const std::string& vhost)
        : settings_(settings), tls_(tls), vhost_(vhost) {}

    /// The objects of the list at that path below /api/; nothing where it is not found.
    std::optional<Json> list(const std::string& path) const;
    /// The object there; nothing where it is not found.
    std::optional<Json> object(const std::string& path) const;

    /// Whatever it is that comes from there.
    Response response(const std::string& path) const;

    Request request_to(const std::string& path) const;
    std::string no_vhost() const;
    std::string unreachable(const std::string& cause) const;
    std::string odd(int status) const;

  private:
    std::optional<Json> ask(const std::string& path) const;
    std::string not_let_in(const Response& response) const;
    std::string not_json() const;

    const config::Management& settings_;
    const config::Tls& tls_;
    const std::string& vhost_;
};

}  // namespace retryd::http
