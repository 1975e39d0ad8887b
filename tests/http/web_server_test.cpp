// The HTTP server, asked over real sockets.
#include "http/web_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "http/client.h"
#include "http/page.h"
#include "support/await.h"
#include "support/catch.h"
#include "support/loopback.h"

namespace retryd::http::web_server_test {
namespace {

using test::await;
using test::Clock;
using test::since;

/// A client that does what it is told, byte by byte.
class Raw {
  public:
    explicit Raw(const Server& server) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
        const sockaddr_in address = test::loopback(server.address().port);
        const timeval patience{60, 0};
        setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        // No REQUIRE: some clients live in threads, where Catch2 does not work.
        connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    ~Raw() { close(fd_); }
    Raw(const Raw&) = delete;
    Raw& operator=(const Raw&) = delete;

    /// False: the server has hung up.
    bool say(const std::string& text) const {
        return connected_ && send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
    }
    /// All that comes until the server hangs up; `(no end)` behind it where it does not.
    std::string rest() const {
        std::string text;
        char buffer[4096];
        ssize_t size = 0;
        while ((size = recv(fd_, buffer, sizeof buffer, 0)) > 0)
            text.append(buffer, static_cast<std::size_t>(size));
        return size < 0 && errno == EAGAIN ? text + "(no end)" : text;
    }

  private:
    int fd_;
    bool connected_ = false;
};

std::string ask(const Server& server, const std::string& line, const std::string& headers = "") {
    const Raw client(server);
    client.say(line + " HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n");
    return client.rest();
}

/// How much longer than its limit something may take on this machine at the moment: of so many questions, each as slow
/// as the slowest of some that nobody is in the way of.
test::milliseconds slack_of(const Server& server, int questions) {
    test::milliseconds slowest{0};
    for (int i = 0; i < 10; ++i) {
        const Clock::time_point start = Clock::now();
        ask(server, "GET /");
        slowest = std::max(slowest, since(start));
    }
    return questions * slowest;
}

Handlers two_pages() {
    return {{"/",
             [] {
                 return Reply{200, "text/html", "<p>"};
             }},
            {"/broken", []() -> Reply { throw std::runtime_error("geheim"); }},
            {"/ill", [] {
                 return Reply{503, "text/plain", "not ready"};
             }}};
}

const config::Http anywhere{"127.0.0.1", 0};

std::string body_of(const std::string& answer) {
    const auto end = answer.find("\r\n\r\n");
    return end == std::string::npos ? "" : answer.substr(end + 4);
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("server: a path is answered with what its function says, and nobody may keep or embed it") {
    const Server server(anywhere, two_pages());
    const std::string page = ask(server, "GET /?x=y");
    CHECK(page.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(body_of(page) == "<p>");
    for (const char* header : {"Content-Type: text/html\r\n", "Content-Length: 3\r\n", "Cache-Control: no-store\r\n",
                               "X-Content-Type-Options: nosniff\r\n", "Referrer-Policy: no-referrer\r\n",
                               "default-src 'none'", "frame-ancestors 'none'", "Connection: close\r\n"}) {
        CAPTURE(header);
        CHECK(holds(page, header));
    }
    CHECK_FALSE(holds(page, "Access-Control"));
    const std::string ill = ask(server, "GET /ill");
    CHECK(ill.starts_with("HTTP/1.1 503 "));
    CHECK(body_of(ill) == "not ready");
}

TEST_CASE("server: a header that an answer has itself stands in place of the one that every answer has") {
    Handlers handlers = two_pages();
    handlers["/own"] = [] {
        return Reply{200, "text/html", "<p>", {{"Content-Security-Policy", "default-src 'self'"}}};
    };
    const Server server(anywhere, handlers);
    const std::string own = ask(server, "GET /own");
    CHECK(holds(own, "Content-Security-Policy: default-src 'self'\r\n"));
    CHECK_FALSE(holds(own, "default-src 'none'"));
    CHECK(holds(own, "Cache-Control: no-store\r\n"));
}

TEST_CASE("server: a path is what was sent, and stands for no other one") {
    const Server server(anywhere, two_pages());
    for (const char* path :
         {"/%62roken", "/broken%00", "/%2e/broken", "/./broken", "//broken", "/broken/", "/BROKEN"}) {
        CAPTURE(path);
        CHECK(ask(server, std::string{"GET "} + path).starts_with("HTTP/1.1 404 "));
    }
}

TEST_CASE("server: HEAD is GET without the body") {
    const Server server(anywhere, two_pages());
    const std::string head = ask(server, "HEAD /");
    CHECK(head.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(holds(head, "Content-Length: 3\r\n"));
    CHECK(body_of(head).empty());
}

TEST_CASE("server: what is not there is answered with what is, other methods with those that are allowed") {
    const Server server(anywhere, two_pages());
    const std::string missing = ask(server, "GET /../etc/passwd");
    CHECK(missing.starts_with("HTTP/1.1 404 "));
    CHECK(body_of(missing) == "nothing is here; there is:\n/\n/broken\n/ill\n");
    for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"}) {
        const std::string answer = ask(server, std::string{method} + " /", "Content-Length: 3\r\n\r\nabc");
        CAPTURE(method, answer);
        CHECK(answer.starts_with("HTTP/1.1 405 "));
        CHECK(holds(answer, "Allow: GET, HEAD\r\n"));
    }
}

TEST_CASE("server: what goes wrong in a function is told without its words") {
    const Server server(anywhere, two_pages());
    const std::string answer = ask(server, "GET /broken");
    CHECK(answer.starts_with("HTTP/1.1 500 "));
    CHECK_FALSE(holds(answer, "geheim"));
    CHECK(ask(server, "GET /").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("server: a huge request line, huge headers and garbage end their own connection only") {
    const Server server(anywhere, two_pages(), std::chrono::seconds{1});
    CHECK_FALSE(ask(server, "GET /" + std::string(1'000'000, 'x')).starts_with("HTTP/1.1 2"));
    CHECK_FALSE(ask(server, "GET /", "X: " + std::string(1'000'000, 'x') + "\r\n").starts_with("HTTP/1.1 2"));
    const Raw garbage(server);
    garbage.say(std::string("\0\xff\x16\x03\x01\r\n\r\n", 9));
    const std::string answer = garbage.rest();  // where it waits for more, until it has waited long enough
    CHECK_FALSE(answer.starts_with("HTTP/1.1 2"));
    CHECK_FALSE(holds(answer, "(no end)"));
    CHECK(ask(server, "GET /").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("server: clients that say nothing, or a byte now and then, keep nobody out") {
    const Server server(anywhere, two_pages());
    std::vector<std::unique_ptr<Raw>> slow;
    const test::milliseconds slack = slack_of(server, 310);
    const Clock::time_point start = Clock::now();
    // An answer shows that all before it are accepted: the kernel drops a connection of too many that wait for that,
    // and tries it again after a second.
    for (int i = 0; i < 10; ++i) {
        for (int j = 0; j < 30; ++j) {
            slow.push_back(std::make_unique<Raw>(server));
            slow.back()->say("G");
        }
        CHECK(ask(server, "GET /").starts_with("HTTP/1.1 200 "));
    }
    CHECK(since(start) < test::seconds(5) + std::min<test::milliseconds>(slack, test::seconds(10)));
    // The first have lost their place, the last have kept theirs.
    CHECK(await([&] { return !slow.front()->say("E"); }));
    CHECK(slow.back()->say("ET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    CHECK(slow.back()->rest().starts_with("HTTP/1.1 200 "));
}

TEST_CASE("server: a client that does not read a large answer holds up no other") {
    Handlers handlers = two_pages();
    handlers["/large"] = [] { return Reply{200, "text/plain", std::string(8'000'000, 'x')}; };
    const Server server(anywhere, handlers);
    std::vector<std::unique_ptr<Raw>> deaf;
    for (int i = 0; i < 20; ++i) {
        deaf.push_back(std::make_unique<Raw>(server));
        deaf.back()->say("GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
    }
    CHECK(ask(server, "GET /").starts_with("HTTP/1.1 200 "));
    CHECK(body_of(ask(server, "GET /large")).size() == 8'000'000);
}

TEST_CASE("server: many clients at once are all answered") {
    std::atomic<int> served = 0;
    Handlers handlers;
    handlers["/"] = [&] {
        ++served;
        return Reply{200, "text/plain", std::string(10'000, 'x')};
    };
    const Server server(anywhere, handlers);
    std::atomic<int> whole = 0;
    std::vector<std::thread> clients;
    for (int i = 0; i < 16; ++i) {
        clients.emplace_back([&] {
            for (int n = 0; n < 20; ++n) {
                if (body_of(ask(server, "GET /")).size() == 10'000) ++whole;
            }
        });
    }
    for (std::thread& client : clients)
        client.join();
    CHECK(whole == 320);
    CHECK(served == 320);
}

TEST_CASE("server: a taken port is told, and a free one can be had again at once") {
    config::Http taken;
    {
        const Server first(anywhere, two_pages());
        taken = first.address();
        CHECK(taken.port != 0);
        std::string why;
        try {
            const Server second(taken, two_pages());
        } catch (const Error& error) {
            why = error.what();
        }
        CHECK(why == "Address already in use");
        ask(first, "GET /");
    }
    const Server again(taken, two_pages());
    CHECK(ask(again, "GET /").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("server: listens on names and on IPv6, and says of what it cannot why") {
    CHECK(Server({"localhost", 0}, two_pages()).address().port != 0);
    CHECK(Server({"::1", 0}, two_pages()).address().host == "::1");
    CHECK_THROWS_AS(Server({"no-such-host.invalid", 0}, two_pages()), Error);
    CHECK_THROWS_AS(Server({"192.0.2.1", 0}, two_pages()), Error);
}

TEST_CASE("server: ends at once, whatever its clients do") {
    auto server = std::make_unique<Server>(anywhere, two_pages());
    std::vector<std::unique_ptr<Raw>> slow;
    for (int i = 0; i < 20; ++i) {
        slow.push_back(std::make_unique<Raw>(*server));
        slow.back()->say("GET / HTT");
    }
    const test::milliseconds slack = slack_of(*server, 20);
    const Clock::time_point start = Clock::now();
    server.reset();
    CHECK(since(start) < test::seconds(2) + std::min<test::milliseconds>(slack, test::seconds(5)));
}

TEST_CASE("server: the page is built in with its parts, byte for byte") {
    const auto text_of = [](const std::filesystem::path& name) {
        std::ostringstream file;
        file << std::ifstream(name).rdbuf();
        return file.str();
    };
    const std::filesystem::path index{RETRYD_PAGE};
    std::string whole = text_of(index);
    CHECK(whole.size() > 100);
    int parts = 0;
    for (std::size_t at = whole.find("/*{"); at != std::string::npos; at = whole.find("/*{", at)) {
        const std::size_t end = whole.find("}*/", at);
        REQUIRE(end != std::string::npos);
        const std::string part = text_of(index.parent_path() / whole.substr(at + 3, end - at - 3));
        whole.replace(at, end + 3 - at, part);
        at += part.size();
        ++parts;
    }
    CHECK(parts > 5);
    CHECK(page() == whole);
}

namespace {

/// Answers with what it was asked; a path that ends with /no is refused before its body is read.
WebApi echo(std::atomic<int>& handled) {
    WebApi api;
    api.prefix = "/api/";
    api.there = [] { return true; };
    api.refuse = [](const WebRequest& request) -> std::optional<Reply> {
        if (!request.path.ends_with("/no")) return std::nullopt;
        return Reply{403, "application/json", "no"};
    };
    api.limit = [](const WebRequest&) -> std::size_t { return 10; };
    api.handle = [&handled](const WebRequest& request) -> Reply {
        ++handled;
        if (request.path.ends_with("/broken")) throw std::runtime_error("geheim");
        const auto x = request.headers.find("x-one");
        return {200,
                "application/json",
                request.method + " " + request.path + " " + request.client + " " + request.body + " " +
                    (x == request.headers.end() ? "" : x->second),
                {{"X-Own", "1"}}};
    };
    api.fault = [](int status, const std::string& text) { return Reply{status, "application/json", "fault " + text}; };
    return api;
}

struct Echo {
    std::atomic<int> handled{0};
    Server server{anywhere, two_pages(), std::chrono::seconds{10}, echo(handled)};

    std::string post(const std::string& path, const std::string& headers, const std::string& body) const {
        const Raw client(server);
        client.say("POST " + path + " HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n" + body);
        return client.rest();
    }
};

}  // namespace

TEST_CASE("server: a request below the prefix is handed over with its headers and its whole body") {
    const Echo e;
    const std::string answer = e.post("/api/x", "X-One: a\r\nContent-Length: 10\r\n", "0123456789");
    CHECK(answer.starts_with("HTTP/1.1 200 "));
    CHECK(body_of(answer) == "POST /api/x 127.0.0.1 0123456789 a");
    CHECK(holds(answer, "X-Own: 1\r\n"));
    CHECK(holds(answer, "Cache-Control: no-store\r\n"));
    CHECK(body_of(ask(e.server, "DELETE /api/y?z=1")) == "DELETE /api/y 127.0.0.1  ");
    CHECK(ask(e.server, "POST /", "Content-Length: 0\r\n").starts_with("HTTP/1.1 405 "));
    CHECK(body_of(ask(e.server, "GET /")) == "<p>");
    const std::string broken = e.post("/api/broken", "Content-Length: 1\r\n", "x");
    CHECK(broken.starts_with("HTTP/1.1 500 "));
    CHECK_FALSE(holds(broken, "geheim"));
}

TEST_CASE("server: a body that is too large, or refused by its headers, is answered before it has come") {
    const Echo e;
    CHECK(e.post("/api/x", "Content-Length: 11\r\n", "").starts_with("HTTP/1.1 413 "));
    CHECK(e.post("/api/x", "Content-Length: 99999999999999999999\r\n", "").starts_with("HTTP/1.1 4"));
    CHECK(e.post("/api/no", "Content-Length: 5\r\n", "").starts_with("HTTP/1.1 403 "));
    CHECK(e.handled == 0);
}

TEST_CASE("server: a request whose end others may see elsewhere is never handed over, nor what hides in it") {
    const Echo e;
    const std::string hidden = "POST /api/hidden HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
    for (const char* headers :
         {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
          "Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: 5\r\nContent-Length: 0\r\n",
          "Transfer-Encoding: chunked\r\n", "Content-Length: -1\r\n", "Content-Length: +5\r\n",
          "Content-Length: 0x5\r\n", "Content-Length: 5\r\nX-One: a\r\nX-One: b\r\n", "Content-Length: 5, 5\r\n"}) {
        const std::string answer = e.post("/api/x", headers, "0\r\n\r\n" + hidden);
        CAPTURE(headers, answer);
        CHECK((answer.empty() || answer.starts_with("HTTP/1.1 4")));
        CHECK_FALSE(holds(answer, "HTTP/1.1 2"));  // libmicrohttpd may write the head of its own 400 twice
    }
    CHECK(e.handled == 0);
    const std::string pipelined = e.post("/api/x", "Content-Length: 1\r\n", "x" + hidden);
    CHECK(pipelined.starts_with("HTTP/1.1 200 "));
    CHECK_FALSE(holds(pipelined, "hidden"));
    CHECK(e.handled == 1);
}

TEST_CASE("server: who sends a body byte by byte, or never, holds up nobody") {
    const Echo e;
    std::vector<std::unique_ptr<Raw>> slow;
    for (int i = 0; i < 10; ++i) {
        slow.push_back(std::make_unique<Raw>(e.server));
        slow.back()->say("POST /api/x HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n01");
    }
    CHECK(body_of(e.post("/api/x", "Content-Length: 1\r\n", "y")) == "POST /api/x 127.0.0.1 y ");
    CHECK(body_of(ask(e.server, "GET /")) == "<p>");
    slow.front()->say("23456789");
    CHECK(body_of(slow.front()->rest()) == "POST /api/x 127.0.0.1 0123456789 ");
}

TEST_CASE("server: an api that is not there is as none") {
    std::atomic<int> handled{0};
    WebApi api = echo(handled);
    api.there = [] { return false; };
    const Server server(anywhere, two_pages(), std::chrono::seconds{10}, api);
    CHECK(body_of(ask(server, "GET /api/x")) == "nothing is here; there is:\n/\n/broken\n/ill\n");
    CHECK(ask(server, "POST /api/x", "Content-Length: 0\r\n").starts_with("HTTP/1.1 405 "));
    CHECK(handled == 0);
}

}  // namespace retryd::http::web_server_test
