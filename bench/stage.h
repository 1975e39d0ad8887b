// What lies on the broker while something is measured: work queues, the error queue, rungs; and retryd's configuration.
#pragma once

#include <string>
#include <vector>

#include "support/client.h"

namespace retryd::bench {

/// One work queue has rungs of its own; several share one ladder (`return: headers`), so that all contenders publish to
/// the same rung however many work queues there are.
struct Layout {
    int work_queues = 1;
    std::vector<std::string> delays{"1h", "2h", "3h"};  // long: nothing returns under way
    bool shared = false;
};

inline Layout layout_of(int work_queues) {
    return {.work_queues = work_queues, .shared = work_queues > 1};
}

constexpr std::uint16_t prefetch = 500;  // retryd's default
inline const std::string error_queue = "bench.errors";
inline const std::string catch_all = "bench.parked";

/// Where a publication for a rung goes. `{queue}` and `{delay}` stand for those of a message.
struct Place {
    std::string exchange;
    std::string key;
};

class Stage {
  public:
    /// Leaves its configuration in `folder`. Everything is deleted before and after.
    Stage(Layout layout, std::string folder);
    ~Stage();
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    /// Error queue and rungs anew and empty, declared by retryd itself.
    void reset();

    const Layout& layout() const { return layout_; }
    std::string config_file() const { return folder_ + "/retryd.yaml"; }
    const std::string& folder() const { return folder_; }
    std::string work_queue(int n) const { return "bench.work." + std::to_string(n); }

    /// For all, with placeholders; for one who reads no header: the first rung of the first work queue.
    Place rung_template() const;
    Place first_rung() const;
    /// The queue that step of the ladder, counted from 0, leads to.
    std::string rung_queue(int step, int work_queue = 0) const;

    std::uint32_t depth(const std::string& queue);
    /// Ready messages on all rungs.
    std::uint32_t on_rungs();
    std::uint32_t consumers();

    test::Client client;

  private:
    void write_config() const;
    std::vector<std::string> rung_queues() const;
    void delete_queues();
    void delete_all();

    Layout layout_;
    std::string folder_;
};

}  // namespace retryd::bench
