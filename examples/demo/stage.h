// What stands on the broker before the first message is sent: the queue of an application, and retryd connected to it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "child.h"
#include "screen.h"
#include "setting.h"

namespace retryd::demo {

class Stage {
  public:
    Stage(const Setting& setting, const Screen& screen) : setting_(setting), screen_(screen) {}

    /// An exchange and a work queue, as an application has them.
    void set_up_application();
    /// The four steps of the README: file, check, run, policy.
    void connect_retryd();

    /// Runs a command of retryd and shows it with its output.
    void show(const std::string& arguments);
    /// `retryd parked replay`, which runs while the consumer goes on, and what it has written.
    std::unique_ptr<Child> begin_replay();
    void show_replay(int exit_code);

    /// Throws std::runtime_error if it has ended by itself.
    void require_retryd();
    /// SIGTERM; its exit code.
    int dismiss_retryd();
    /// Waits until no message is left in any queue of the play, and shows the queues; false if some stay.
    bool show_empty_queues();
    std::string retryds_log() const { return read_file(log_path()); }

  private:
    void start_retryd();
    void show_queues();
    void show_status_page();
    /// Throws if that does not come true in good time; `what` is what is awaited.
    void await(const std::string& what, const std::function<bool()>& condition);
    bool comes_true(const std::function<bool()>& condition);
    std::string ctl(const std::string& arguments, const std::string& input = "/dev/null");
    std::string log_path() const { return setting_.folder + "/retryd.log"; }

    const Setting& setting_;
    const Screen& screen_;
    std::unique_ptr<Child> retryd_;
};

}  // namespace retryd::demo
