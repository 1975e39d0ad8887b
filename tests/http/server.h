// An HTTP server with fixed answers: it serves one connection after the other and remembers the requests.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace retryd::test {

class Server {
  public:
    /// `answer` is what it sends, headers included; empty: it never answers.
    explicit Server(std::string answer);
    /// Answers by the beginning of the request line, such as `GET /api/overview`; the longest that matches is used.
    explicit Server(std::map<std::string, std::string> answers);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Answers with these before all others, one for each request.
    void answer_first(std::vector<std::string> answers);

    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    /// The request lines, `GET /path HTTP/1.1` each.
    std::vector<std::string> requests() const;
    /// The last request with its headers, and its body.
    std::string last() const;
    std::string last_body() const;

  private:
    void serve();
    void answer(int client);

    std::string answer_to(const std::string& head);

    std::map<std::string, std::string> answers_;
    int listener_ = -1;
    int port_ = 0;
    mutable std::mutex mutex_;
    std::vector<std::string> first_answers_;
    std::vector<std::string> heads_;
    std::string body_;
    std::thread thread_;
};

/// `HTTP/1.1 200 OK` and so on, with that body.
std::string answer(const std::string& status, const std::string& body);

}  // namespace retryd::test
