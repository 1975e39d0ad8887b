// For tests that make headers which nest very deep.
#pragma once

#include <sys/resource.h>

#include <algorithm>

namespace retryd::test {

/// A larger stack for the test client, which reads tables recursively. Not for the daemon, which has been started
/// before.
class DeepStack {
  public:
    DeepStack() {
        ::getrlimit(RLIMIT_STACK, &before_);
        rlimit more = before_;
        more.rlim_cur = std::min<rlim_t>(before_.rlim_max, rlim_t{64} << 20);
        ::setrlimit(RLIMIT_STACK, &more);
    }
    ~DeepStack() { ::setrlimit(RLIMIT_STACK, &before_); }
    DeepStack(const DeepStack&) = delete;
    DeepStack& operator=(const DeepStack&) = delete;

  private:
    rlimit before_{};
};

}  // namespace retryd::test
