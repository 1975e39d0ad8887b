// A file that has its name once all is in it and safe on the disk, never before: until then it is NAME.part.
#pragma once

#include <sys/types.h>

#include <string>

namespace retryd::commands {

/// Never replaces anything. What is not finished is taken away again; what a process that was killed has left is
/// written anew by the next one.
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

}  // namespace retryd::commands
