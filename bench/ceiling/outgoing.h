// Publications on their way out: frames are written by hand, many go with one call into the kernel.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ceiling/connection.h"

namespace retryd::bench::ceiling {

/// All to one exchange with one key, mandatory: the method's frame is the same for each.
class Outgoing {
  public:
    Outgoing(Connection& connection, const std::string& exchange, const std::string& key);

    /// The properties go out as they came in, never decoded.
    void publish(const Delivery& delivery);
    /// Waits while the socket is full.
    void flush() { flush_with({}); }

  private:
    void add(std::string_view bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
    void add_head(int type, std::size_t payload_size);
    void add_header(const Delivery& delivery);
    void add_body(std::string_view body);
    void flush_with(std::string_view fragment);

    Connection& connection_;
    std::size_t largest_fragment_;
    std::vector<char> bytes_;
    std::string method_;  // the whole frame
};

}  // namespace retryd::bench::ceiling
