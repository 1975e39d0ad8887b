// `retryd parked show`: one parked message, with all that it carries.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "commands/parked/browser.h"

namespace retryd::commands {

struct ShowOptions {
    std::size_t number = 1;  // which of the selected, counted from the oldest
    bool raw = false;        // the body alone, as it is
};

/// Takes nothing out of any queue. Returns 0; 1 where there is no such message, or the broker cannot be reached; 78
/// wrong configuration.
int parked_show(const ParkedOptions& options, const ShowOptions& show, std::ostream& out, std::ostream& err);

/// As `show` prints it.
void print_message(const std::string& from, const core::Message& message, const admin::Parked& parked,
                   core::WallTime now, bool colour, std::ostream& out);
nlohmann::ordered_json json_of_message(const std::string& from, const core::Message& message,
                                       const admin::Parked& parked);

}  // namespace retryd::commands
