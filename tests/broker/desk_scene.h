// A daemon with a desk, asked as a browser asks it.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/await.h"
#include "support/catch.h"
#include "support/folder.h"
#include "support/loopback.h"
#include "support/served.h"

namespace retryd::test {

inline constexpr const char* desk_password = "a good password";

/// A scene whose daemon has a desk, and a browser that somebody sits at.
template <class Scene>
struct AtDesk : Scene {
    AtDesk() : served(this->daemon) {
        std::ofstream(folder.file("password")) << desk_password << '\n';
        this->config.http = "127.0.0.1:0";
        this->config.http_more =
            "admin: {password_file: " + folder.file("password") + "}, audit: " + folder.file("audit");
    }

    /// As it stands, and all that comes back.
    std::string say(const std::string& text) const {
        const std::string url = served.url();
        const int fd = socket(AF_INET, SOCK_STREAM, 0);
        const auto address = loopback(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
        const timeval longest{60, 0};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
        std::string heard;
        if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
            ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size())) {
            char buffer[4096];
            for (ssize_t size = 0; (size = recv(fd, buffer, sizeof buffer, 0)) > 0;)
                heard.append(buffer, static_cast<std::size_t>(size));
        }
        close(fd);
        return heard;
    }

    nlohmann::json call(const std::string& method, const std::string& path, const std::string& body = "") {
        std::string text = method + " " + path + " HTTP/1.1\r\n";
        for (const auto& [name, value] : headers)
            text += name + ": " + value + "\r\n";
        answer = say(text + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
        status = answer.size() > 12 ? std::stoi(answer.substr(9, 3)) : 0;
        const auto end = answer.find("\r\n\r\n");
        return nlohmann::json::parse(end == std::string::npos ? "" : answer.substr(end + 4), nullptr, false);
    }

    void sign_in() {
        const nlohmann::json session = call("POST", "/api/session", nlohmann::json{{"password", desk_password}}.dump());
        REQUIRE(status == 200);
        headers["X-Retryd-Csrf"] = session["csrf"];
        const auto at = answer.find("Set-Cookie: ") + 12;
        headers["Cookie"] = answer.substr(at, answer.find(';', at) - at);
    }

    std::string begin(const std::string& action, const nlohmann::json& request) {
        const nlohmann::json run = call("POST", "/api/" + action, request.dump());
        INFO(answer);
        REQUIRE(status == 202);
        return run["id"];
    }
    nlohmann::json ended(const std::string& id) {
        nlohmann::json run;
        CHECK(await([&] {
            run = call("GET", "/api/runs/" + id);
            return run.contains("ended_at") && !run["ended_at"].is_null();
        }));
        INFO(run.dump(2));
        return run;
    }
    nlohmann::json result(const std::string& action, const nlohmann::json& request) {
        const nlohmann::json run = ended(begin(action, request));
        INFO(run.dump(2));
        CHECK(run["ok"] == true);
        return run["result"];
    }
    std::vector<std::string> audit() const {
        std::ifstream file(folder.file("audit"));
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);)
            lines.push_back(line);
        return lines;
    }

    TemporaryFolder folder;
    Served served;
    std::map<std::string, std::string> headers{{"Host", "localhost"}, {"Content-Type", "application/json"}};
    std::string answer;
    int status = 0;
};

}  // namespace retryd::test
