// What happens to each mail: written on the screen at once, kept for the end, and held against what was promised.
//
// It learns of a mail's way from the mail itself, as any consumer could: x-death names the rung that it comes from,
// retryd-attempt counts.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/message.h"
#include "core/time.h"
#include "mails.h"
#include "screen.h"

namespace retryd::demo {

using Clock = std::chrono::steady_clock;

/// One time on a rung.
struct Wait {
    std::string rung;
    core::Milliseconds configured{};
    std::chrono::microseconds measured{};  // from the rejection to the next delivery, at the consumer
};

struct Story {
    const Mail* mail = nullptr;
    std::vector<Clock::time_point> rejections;
    std::vector<Wait> waits;
    bool parked = false;
    int done = 0;  // times
};

class Chronicle {
  public:
    explicit Chronicle(const Screen& screen);

    void sent(const Mail& mail);
    void came(const Mail& mail, const core::Message& message);
    void rejected(const Mail& mail);
    void done(const Mail& mail);
    void parked(const Mail& mail, const core::Message& message);
    /// Something is not as it should be.
    void complain(const std::string& what);

    /// Every mail is done or parked.
    bool settled() const;
    bool all_done() const;
    const std::vector<Story>& stories() const { return stories_; }
    std::size_t complaints() const { return complaints_; }

  private:
    Story& story_of(const Mail& mail);
    void home(Story& story, const core::Message& message, Clock::time_point now);
    void check(const Story& story, const Wait& wait, const core::Message& message);
    void show(const Mail& mail, Colour colour, std::string_view verb, const std::string& details) const;

    const Screen& screen_;
    Clock::time_point begin_ = Clock::now();
    std::vector<Story> stories_;
    std::size_t complaints_ = 0;
};

}  // namespace retryd::demo
