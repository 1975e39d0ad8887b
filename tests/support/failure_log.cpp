#include "support/failure_log.h"

#include <iostream>

#define CATCH_CONFIG_EXTERNAL_INTERFACES  // Catch2 2 shows its listeners only then
#include "support/catch.h"

namespace retryd::test {

namespace {

std::string& kept() {
    static std::string text;
    return text;
}

#if __has_include(<catch2/catch_all.hpp>)
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

class ShowOnFailure : public ListenerBase {
  public:
    using ListenerBase::ListenerBase;
    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        if (stats.totals.assertions.failed > 0) std::cerr << kept() << std::flush;
        kept().clear();
        ListenerBase::testCaseEnded(stats);
    }
};

}  // namespace

CATCH_REGISTER_LISTENER(ShowOnFailure)

void keep_for_failure(const std::string& title, const std::string& text) {
    constexpr std::size_t longest = 20'000;
    const std::size_t from = text.size() > longest ? text.size() - longest : 0;
    kept() += "---- " + title + (from > 0 ? " (its end)" : "") + "\n" + text.substr(from) + "----\n";
}

}  // namespace retryd::test
