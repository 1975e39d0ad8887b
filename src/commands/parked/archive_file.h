// A file of messages that grows: each line as `parked export` writes it, safe on the disk before its message goes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace retryd::commands {

/// Appends; several processes may do so at once. What one that was killed, or a full disk, has left of a line is taken
/// away: its message is still where it was.
class ArchiveFile {
  public:
    explicit ArchiveFile(std::string name) : name_(std::move(name)) {}
    ~ArchiveFile();
    ArchiveFile(const ArchiveFile&) = delete;
    ArchiveFile& operator=(const ArchiveFile&) = delete;

    /// `line` is in it with the next sync().
    void add(const std::string& line);
    /// All that was added is on the disk, or the file is as it was, and fault() says why.
    void sync();

    /// Of lines that wait for the next sync().
    std::size_t waiting_bytes() const { return text_.size(); }

    /// Why nothing can be written; empty as long as it can.
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
    bool named_ = false;  // its name is on the disk
};

}  // namespace retryd::commands
