// `retryd parked export`: parked messages into a file, one a line, exact (commands/parked/message_line.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>

#include "commands/parked/browser.h"

namespace retryd::commands {

/// A file that has its name once all is in it and safe on the disk, never before: until then it is NAME.part. It never
/// replaces anything. What is not finished is taken away again; what a process that was killed has left is written anew
/// by the next one.
class ExportFile {
  public:
    explicit ExportFile(std::string name);
    ~ExportFile();
    ExportFile(const ExportFile&) = delete;
    ExportFile& operator=(const ExportFile&) = delete;

    void add(const std::string& line);

    /// Bytes so far; what comes after them can be taken back.
    off_t size();
    void cut_to(off_t size);

    /// All is in it.
    void finish();

    /// Why nothing more can be written; empty as long as it can.
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
    std::string file;                  // must not be there yet
    std::optional<std::size_t> first;  // of the selected only so many
};

/// Takes nothing out of any queue. The file is there once all is in it and safe on the disk, never before. Returns 0; 1
/// where not all could be looked at or written, or the broker cannot be reached; 78 wrong configuration.
int parked_export(const ParkedOptions& options, const ExportOptions& file, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
