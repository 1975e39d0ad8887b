// Which requests to the desk come from the desk's own page, and not from another page that a browser has open, or from
// one whose name was made to point here (DNS rebinding). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/web_server.h"

namespace retryd::daemon {

/// What keeps a request out.
struct DeskRefusal {
    int status = 0;
    std::string code;  // a word for programs
    std::string text;  // a sentence for people
};

/// Whether the host of a Host header (with or without a port) is ours: this machine's own names, or `listen`'s host.
///
/// The port does not matter, for an ssh tunnel begins at any. What a proxy says (X-Forwarded-Host) does not either: a
/// page of a rebound name can send that header as it likes, but never the Host. So a proxy has to ask for the address
/// that we listen on, which is what most do by themselves.
bool is_own_host(std::string_view host, std::string_view listen_host);

/// Host, Origin and Sec-Fetch-Site, of any request. X-Forwarded-Host and X-Forwarded-Proto are believed for what Origin
/// is compared with: a page of somebody else's cannot send them without a preflight, which nobody answers here.
std::optional<DeskRefusal> refuse_foreign(const http::WebRequest& request, std::string_view listen_host);

/// What besides only a changing request needs: JSON, which no form can send.
std::optional<DeskRefusal> refuse_form(const http::WebRequest& request);

/// Whether a proxy says that the browser speaks TLS: then the cookie is for TLS alone.
bool came_by_tls(const http::WebRequest& request);

/// Of the header Cookie; empty where it is not there, or there twice.
std::string cookie_value(const http::WebRequest& request, std::string_view name);

/// Empty where it is not there.
std::string_view header_value(const http::WebRequest& request, const std::string& lower_case_name);

}  // namespace retryd::daemon
