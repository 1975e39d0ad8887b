// A parking queue with messages in it, as the daemon parks them, and the commands that work on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/command_line.h"
#include "support/process.h"
#include "support/scenario.h"

namespace retryd::test {

class ParkedScene : public Scenario {
  public:
    /// A work queue with a ladder of one rung (100 ms); nothing is parked yet, no daemon runs. `shared`: the ladder is.
    explicit ParkedScene(bool shared = false);

    /// Parks messages with the bodies 0, 1, 2 … and the header `third` = yes on every third. Each was parked an hour
    /// ago.
    void park(int messages);
    /// Parks one message. `headers` are added to those that the daemon would have written.
    void park_one(const std::string& body, const Table& headers = {}, const std::string& reason = "attempts-exhausted");

    /// `retryd parked ARGUMENTS` with this scene's configuration.
    CommandResult parked(const std::string& arguments);
    /// The same, without waiting for its end.
    std::unique_ptr<Process> start_parked(const std::vector<std::string>& arguments);
    /// What it wrote.
    std::string output() const;

    /// Consumes all messages of the queue and returns their bodies in order. Waits until there are `expected`, since
    /// some may still be requeued.
    std::vector<std::string> drain(const std::string& queue, std::size_t expected);

    std::string work;
    std::string parking;

  private:
    void send_parked(const std::string& body, const Table& headers, const std::string& reason);

    std::string output_file_;
};

/// The bodies from 0 on, below `messages`, of those that park() marks `third`, or of the others.
std::vector<std::string> bodies(int messages, bool third);

}  // namespace retryd::test
