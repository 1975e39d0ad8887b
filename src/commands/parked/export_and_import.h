// `retryd parked export` and `retryd parked import`: parked messages into a file, one a line, and back, exact
// (commands/parked/message_line.h).
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>

#include "commands/parked/browser.h"

namespace retryd::commands {

struct ExportOptions {
    std::string file;                  // must not be there yet
    std::optional<std::size_t> first;  // of the selected only so many
};

/// Takes nothing out of any queue. The file is there once all is in it and safe on the disk, never before. Returns 0; 1
/// where not all could be looked at or written, or the broker cannot be reached; 78 wrong configuration.
int parked_export(const ParkedOptions& options, const ExportOptions& file, std::ostream& out, std::ostream& err);

struct ImportOptions {
    std::string file;
    std::string to;                   // empty: each into the queue that it was parked in
    std::optional<std::size_t> skip;  // lines that were imported before
    bool dry_run = false;
};

/// Reads all of the file before it sends any of it: a wrong one changes nothing. Returns 0 when the broker has
/// confirmed every message; 1 where some are not in their queues, or it cannot be reached, or an earlier import of the
/// file ended early and `skip` does not say where to go on; 78 wrong configuration.
int parked_import(const ReportOptions& report, const ImportOptions& options, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
