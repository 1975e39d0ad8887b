// A small HTTP server for those who watch retryd: GET and HEAD of a few fixed paths. It knows nothing of what it
// serves.
//
// It has one thread of its own, which no client can stall: an answer is made in one piece, a connection ends after one
// answer or when it is silent for too long, and where all places are taken the oldest connection is closed for a new
// one.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "config/settings.h"

namespace retryd::http {

struct Reply {
    int status = 200;
    std::string content_type;
    std::string body;
};

/// By path. Called in the server's thread, one at a time. A handler that throws gives an answer of status 500.
using Handlers = std::map<std::string, std::function<Reply()>, std::less<>>;

class Server {
  public:
    /// Listens from now on. Throws Error where it cannot; its text is the cause alone ("Address already in use").
    /// `silence`: a connection on which nothing comes for so long is closed.
    Server(const config::Http& settings, Handlers handlers, std::chrono::seconds silence = std::chrono::seconds{10});
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
