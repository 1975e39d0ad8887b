// A TCP relay in front of the broker: a network that a test can cut, close and hold.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <thread>

#include "support/client.h"

namespace retryd::test {

/// Listens on a port of its own on 127.0.0.1, which stays the same. Starts closed.
class TcpRelay {
  public:
    explicit TcpRelay(const Address& target);
    ~TcpRelay();
    TcpRelay(const TcpRelay&) = delete;
    TcpRelay& operator=(const TcpRelay&) = delete;

    /// The target's address with the relay's port.
    const Address& address() const { return address_; }

    void open();   // connections are accepted and relayed
    void close();  // the port refuses; every connection is reset
    void cut();    // every connection is reset; new ones are accepted
    void hold();   // nothing is relayed any more, nothing is closed: a network that swallows packets
    void resume();
    /// What comes from now on, either way, is changed so before it is relayed; it keeps its length.
    void change(std::function<void(std::span<char>)> bytes);
    int connections() const { return connections_; }

  private:
    void serve();
    void accept_one();
    bool forward(int from, int to);
    void drop(int socket);

    Address target_;
    Address address_;
    int listener_ = -1;
    int reserved_ = -1;  // bound, never listening: keeps the port ours while closed
    std::map<int, int> peers_;
    std::function<void(std::span<char>)> change_;
    std::recursive_mutex mutex_;
    std::atomic<bool> held_{false};
    std::atomic<bool> ending_{false};
    std::atomic<int> connections_{0};
    std::thread thread_;
};

}  // namespace retryd::test
