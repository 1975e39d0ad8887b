// A bare relay, to measure retryd against: it reads with rabbitmq-c as retryd does, but looks at no header and decides
// nothing; what it publishes are the bytes that came in. It gives the same guarantees: mandatory, persistent (what is
// not stays so), confirmed, acked after that, many with one ack.
//
//   ceiling URI QUEUE EXCHANGE KEY PREFETCH
#include <signal.h>

#include <cstdlib>
#include <iostream>

#include "ceiling/relay.h"

namespace {

volatile bool stop = false;

}  // namespace

int main(int argc, char* argv[]) {
    if (argc != 6) {
        std::cerr << "ceiling URI QUEUE EXCHANGE KEY PREFETCH\n";
        return 64;
    }
    struct sigaction action {};
    action.sa_handler = [](int) { stop = true; };
    sigaction(SIGTERM, &action, nullptr);
    try {
        const auto prefetch = static_cast<std::uint16_t>(std::strtoul(argv[5], nullptr, 10));
        retryd::bench::ceiling::Relay({argv[1], argv[2], argv[3], argv[4], prefetch}).run(stop);
    } catch (const std::exception& error) {
        std::cerr << "ceiling: " << error.what() << '\n';
        return 1;
    }
    return 0;
}
