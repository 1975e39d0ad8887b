// `retryd parked export`: writes parked messages to a file, one on each line, without loss
// (commands/parked/message_line.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>

#include "commands/parked/browser.h"

namespace retryd::commands {

/// A file that gets its name only when it is complete and safe on disk; until then it is NAME.part. It never replaces
/// an existing file. An unfinished file is deleted; one left by a killed process is overwritten the next time.
class ExportFile {
  public:
    explicit ExportFile(std::string name);
    ~ExportFile();
    ExportFile(const ExportFile&) = delete;
    ExportFile& operator=(const ExportFile&) = delete;

    void add(const std::string& line);

    /// The bytes so far; the file can be cut back to that size.
    off_t size();
    void cut_to(off_t size);

    /// Call when the file is complete.
    void finish();

    /// Why nothing more can be written; empty while it can.
    const std::string& fault() const { return fault_; }

  private:
    void own_part();
    void write_out();
    void take_name();
    void keep_name();
    void fail(const std::string& what);

    std::string name_;
    std::string part_;
    std::string text_;  // not written yet
    std::string fault_;
    off_t size_ = 0;
    int file_ = -1;
    bool owned_ = false;
};

struct ExportOptions {
    std::string file;                  // must not exist yet
    std::optional<std::size_t> first;  // at most so many of the selected messages
};

/// Takes nothing out of any queue. The file appears only when it is complete and safe on disk. Returns 0; 1 if not
/// everything could be looked at or written, or the broker cannot be reached; 78 for a wrong configuration.
int parked_export(const ParkedOptions& options, const ExportOptions& file, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
