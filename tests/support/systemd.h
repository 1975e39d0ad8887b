// systemd's end of the notification socket (sd_notify(3)), for programs that are started while it lives.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "support/catch.h"
#include "support/folder.h"

namespace retryd::test {

class Systemd {
  public:
    Systemd() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        folder_.file("socket").copy(address.sun_path, sizeof address.sun_path - 1);
        socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        REQUIRE(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        setenv("NOTIFY_SOCKET", address.sun_path, 1);
    }
    ~Systemd() {
        unsetenv("NOTIFY_SOCKET");
        unsetenv("WATCHDOG_USEC");
        close(socket_);
    }
    Systemd(const Systemd&) = delete;
    Systemd& operator=(const Systemd&) = delete;

    /// WatchdogSec= of the unit.
    void watch_every(std::chrono::seconds time) const {
        setenv("WATCHDOG_USEC", (std::to_string(time.count()) + "000000").c_str(), 1);
    }

    /// The next message, empty where there is none.
    std::string heard() const {
        char text[4096];
        const ssize_t size = recv(socket_, text, sizeof text, 0);
        return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
    }

    int fd() const { return socket_; }

  private:
    TemporaryFolder folder_;
    int socket_ = -1;
};

/// Reads and discards all notifications from now on: where nobody reads, the sender waits.
class Reader {
  public:
    explicit Reader(const Systemd& systemd) : socket_(systemd.fd()), thread_([this] { read(); }) {}
    ~Reader() {
        shutdown(socket_, SHUT_RDWR);
        thread_.join();
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

  private:
    void read() const {
        char text[256];
        pollfd readable{socket_, POLLIN, 0};
        do {
            poll(&readable, 1, -1);
        } while (recv(socket_, text, sizeof text, 0) > 0);
    }

    int socket_;
    std::thread thread_;
};

}  // namespace retryd::test
