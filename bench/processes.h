// What processes have used so far, out of /proc.
#pragma once

#include <sys/types.h>

#include <vector>

namespace retryd::bench {

/// User and system time of all its threads, in seconds, as exact as the kernel knows it.
double cpu_seconds(pid_t pid);
double cpu_seconds(const std::vector<pid_t>& pids);

/// The most that was resident at once (VmHWM), in KiB.
long peak_kib(pid_t pid);

/// Waits until they have used next to nothing for a while, at most `most` seconds.
void await_idle(const std::vector<pid_t>& pids, int most = 20);

/// The Erlang VM of the broker that the environment names (RETRYD_TEST_BROKER_DIR).
pid_t find_broker();

}  // namespace retryd::bench
