// A small HTTP server for those who watch retryd: GET and HEAD of a few fixed paths, and one handler for what changes
// something. It knows nothing of what it serves.
//
// It has one thread of its own, which no client can stall: an answer is made in one piece, a connection ends after one
// answer or when it is silent for too long, and where all places are taken the oldest connection is closed for a new
// one.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/settings.h"

namespace retryd::http {

struct Reply {
    int status = 200;
    std::string content_type;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers = {};  // besides those that every answer has
};

/// What an WebApi is asked.
struct WebRequest {
    std::string method;
    std::string path;                            // without the query; not decoded
    std::string client;                          // its address, without the port
    std::string body;                            // empty in WebApi::limit and WebApi::refuse
    std::map<std::string, std::string> headers;  // by their names in lower case; each came once
};

/// What answers every request whose path begins with `prefix`. All of it is called in the server's thread, one at a
/// time.
struct WebApi {
    std::string prefix;
    std::function<bool()> there;  // else it is as if there were none
    /// Of a request whose headers alone are here, before a byte of its body is kept: the answer where it is refused.
    std::function<std::optional<Reply>(const WebRequest&)> refuse;
    /// How long the body may be.
    std::function<std::size_t(const WebRequest&)> limit;
    std::function<Reply(const WebRequest&)> handle;
    /// An answer of the server's own: 400, 411, 413, 500.
    std::function<Reply(int status, const std::string& text)> fault;
};

/// By path. Called in the server's thread, one at a time. A handler that throws gives an answer of status 500.
using Handlers = std::map<std::string, std::function<Reply()>, std::less<>>;

class Server {
  public:
    /// Listens from now on. Throws Error where it cannot; its text is the cause alone ("Address already in use").
    /// `silence`: a connection on which nothing comes for so long is closed.
    /// Without an `api` no body is ever read.
    Server(const config::Http& settings, Handlers handlers, std::chrono::seconds silence = std::chrono::seconds{10},
           std::optional<WebApi> api = std::nullopt);
    /// Cuts all connections; waits only for a handler that is running.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Where it listens; the port is the real one where port 0 was asked for.
    const config::Http& address() const;

  private:
    struct Running;
    std::unique_ptr<Running> running_;
};

}  // namespace retryd::http
