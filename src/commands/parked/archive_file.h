// A file to which messages are appended, each as a line that `parked export` would write. A line is safe on disk before
// its message is acked.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace retryd::commands {

/// Several processes may append at the same time. An incomplete line, left by a killed process or a full disk, is
/// removed: its message is still in its queue.
class ArchiveFile {
  public:
    explicit ArchiveFile(std::string name) : name_(std::move(name)) {}
    ~ArchiveFile();
    ArchiveFile(const ArchiveFile&) = delete;
    ArchiveFile& operator=(const ArchiveFile&) = delete;

    /// Writes `line` with the next sync().
    void add(const std::string& line);
    /// Either everything that was added is on disk, or the file is unchanged and fault() says why.
    void sync();

    /// The bytes that wait for the next sync().
    std::size_t waiting_bytes() const { return text_.size(); }

    /// Why nothing can be written; empty while it can.
    const std::string& fault() const { return fault_; }

  private:
    void open_it();
    void lock();
    bool is_there() const;
    void append();
    void mend_end(off_t size);
    std::string last_line(off_t size);
    void write_all();
    void keep_name();
    void fail(const std::string& what);
    void fail_of(const std::string& path, const std::string& what);

    std::string name_;
    std::string text_;  // not written yet
    std::string fault_;
    int file_ = -1;
    bool named_ = false;  // its name is on disk
};

}  // namespace retryd::commands
