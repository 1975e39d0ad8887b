// A small HTTP server for who watches retryd: GET and HEAD of a few fixed paths. It knows nothing of what it serves.
//
// One thread of its own. What a client does or does not do cannot stall it: answers are made in one piece, connections
// are few, end after one answer and are given up when they are silent; where all are taken the oldest makes room.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "config/settings.h"

namespace retryd::http {

// A listening socket.

struct Listener {
    int fd = -1;
    config::Http address;  // with the real port
};

/// Throws Error, with the cause alone. The caller closes it.
Listener listen_on(const config::Http& settings);

struct Reply {
    int status = 200;
    std::string content_type;
    std::string body;
};

/// By path. Called in the server's thread, one at a time; what one throws becomes a 500.
using Handlers = std::map<std::string, std::function<Reply()>, std::less<>>;

class Server {
  public:
    /// Listens from now on. Throws Error where it cannot, with the cause alone ("Address already in use").
    Server(const config::Http& settings, Handlers handlers);
    /// Cuts all connections; waits only for a handler that is running.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Where it listens: with the real port where any was asked for.
    const config::Http& address() const;

  private:
    struct Running;
    std::unique_ptr<Running> running_;
};

}  // namespace retryd::http
