#include "faults/proxied.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace retryd::test {

namespace {

constexpr std::size_t most_on_its_way = std::size_t{1} << 20;
constexpr milliseconds between_signs{300};

}  // namespace

Proxied::Proxied(int daemon, int broker) {
    way(Direction::to_broker).from = way(Direction::to_daemon).to = daemon;
    way(Direction::to_broker).to = way(Direction::to_daemon).from = broker;
    for (const int socket : {daemon, broker})
        ::fcntl(socket, F_SETFL, O_NONBLOCK);
}

Proxied::~Proxied() {
    ::close(way(Direction::to_broker).from);
    ::close(way(Direction::to_broker).to);
}

void Proxied::cut_off_broker() {
    silent_ = true;
    ::shutdown(way(Direction::to_broker).to, SHUT_RDWR);
}

void Proxied::stop_reading(std::size_t bytes_at_a_time) {
    deaf_ = true;
    hardly_read_.resize(bytes_at_a_time);
}

bool Proxied::reads(Direction direction) const {
    const Way& its = way(direction);
    return !silent_ && !deaf_ && !its.ended && its.out.size() < most_on_its_way;
}

void Proxied::wants(std::vector<pollfd>& waiting) const {
    for (const Direction direction : {Direction::to_broker, Direction::to_daemon}) {
        const Way& its = way(direction);
        if (reads(direction)) waiting.push_back({its.from, POLLIN, 0});
        if (!its.out.empty() && Clock::now() >= its.held_until) waiting.push_back({its.to, POLLOUT, 0});
    }
}

bool Proxied::relay(const Pass& pass) {
    for (const Direction direction : {Direction::to_broker, Direction::to_daemon}) {
        if (reads(direction)) take_in(direction, pass);
    }
    if (deaf_) pretend_to_live();
    for (Way& its : ways_)
        flush(its);
    const bool both_told = ways_[0].passed_on && ways_[1].passed_on;
    return !broken_ && !cut_ && !both_told;
}

/// Reads once and lets the faults have each frame; what went out before is on its way by then.
void Proxied::take_in(Direction direction, const Pass& pass) {
    Way& its = way(direction);
    char buffer[65536];
    const ssize_t count = ::recv(its.from, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
        its.ended = true;
        return;
    }
    its.in.append(buffer, static_cast<std::size_t>(count));
    for (const Frame& frame : take_frames(its.in)) {
        flush(its);
        pass(*this, direction, frame);
        if (cut_ || silent_ || deaf_) return;
    }
}

void Proxied::flush(Way& its) {
    while (!its.out.empty() && Clock::now() >= its.held_until) {
        const ssize_t sent = ::send(its.to, its.out.data(), its.out.size(), MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EAGAIN) return;
            if (!hangs()) broken_ = true;
            its.out.clear();  // nobody is there to take it
            return;
        }
        its.out.erase(0, static_cast<std::size_t>(sent));
    }
    if (its.ended && !its.passed_on && its.out.empty()) {
        ::shutdown(its.to, SHUT_WR);
        its.passed_on = true;
    }
}

void Proxied::pretend_to_live() {
    if (Clock::now() < next_sign_) return;
    next_sign_ = Clock::now() + between_signs;
    way(Direction::to_daemon).out += heartbeat_frame().bytes;
    if (hardly_read_.empty()) return;
    if (::recv(way(Direction::to_broker).from, hardly_read_.data(), hardly_read_.size(), 0) == 0) broken_ = true;
}

}  // namespace retryd::test
