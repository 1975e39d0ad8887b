// A client for what a daemon serves over HTTP.
#pragma once

#include <string>

#include "support/daemon.h"

namespace retryd::test {

struct Answer {
    int status = 0;  // 0: nobody answers
    std::string body;
};

class Served {
  public:
    /// `daemon` must outlive it.
    explicit Served(const Daemon& daemon) : daemon_(daemon) {}

    /// Where it listens now, as the last line about it in its log says: http://HOST:PORT
    std::string url() const;

    Answer get(const std::string& path) const { return get_from(url(), path); }
    static Answer get_from(const std::string& url, const std::string& path);

    /// Of /metrics, with exactly those labels: retryd_messages_total{queue="email",…}. Negative: no such line.
    double metric(const std::string& series) const;
    bool await_metric(const std::string& series, double value, milliseconds within = patience) const;

  private:
    const Daemon& daemon_;
};

}  // namespace retryd::test
