// A small HTTP server: GET and HEAD of a few fixed paths, and one handler for requests that change something. It knows
// nothing of what it serves.
//
// It has a thread of its own that no client can stall: an answer is made in one piece, a connection ends after one
// answer or when it is silent for too long, and if all places are taken, the oldest connection is closed for a new one.
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
    std::vector<std::pair<std::string, std::string>> headers = {};  // in addition to those of every answer
};

/// A request to a WebApi.
struct WebRequest {
    std::string method;
    std::string path;                            // without the query; not decoded
    std::string client;                          // the client's address, without the port
    std::string body;                            // empty in WebApi::limit and WebApi::refuse
    std::map<std::string, std::string> headers;  // names in lower case; each came exactly once
};

/// Answers every request whose path begins with `prefix`. All functions are called in the server's thread, one at a
/// time.
struct WebApi {
    std::string prefix;
    std::function<bool()> there;  // false: as if there were no WebApi
    /// Called when only the headers have arrived, before any of the body is stored: the answer if the request is
    /// refused.
    std::function<std::optional<Reply>(const WebRequest&)> refuse;
    /// The longest body that is accepted.
    std::function<std::size_t(const WebRequest&)> limit;
    std::function<Reply(const WebRequest&)> handle;
    /// Makes an answer of the server's own: 400, 411, 413, 500.
    std::function<Reply(int status, const std::string& text)> fault;
};

/// Handlers by path, called in the server's thread, one at a time. If one throws, the answer is status 500.
using Handlers = std::map<std::string, std::function<Reply()>, std::less<>>;

class Server {
  public:
    /// Starts listening. Throws Error if it cannot; its text is only the cause ("Address already in use"). `silence`:
    /// how long a connection may be silent before it is closed. Without an `api` no body is ever read.
    Server(const config::Http& settings, Handlers handlers, std::chrono::seconds silence = std::chrono::seconds{10},
           std::optional<WebApi> api = std::nullopt);
    /// Cuts all connections; waits only for a running handler.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Where it listens, with the actual port if port 0 was asked for.
    const config::Http& address() const;

  private:
    struct Running;
    std::unique_ptr<Running> running_;
};

}  // namespace retryd::http
