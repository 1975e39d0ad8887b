// The file that `retryd parked import` reads, line by line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "commands/parked/message_line.h"

namespace retryd::commands {

/// Empty lines count, and mean nothing.
class ImportFile {
  public:
    explicit ImportFile(std::string name);
    ~ImportFile();
    ImportFile(const ImportFile&) = delete;
    ImportFile& operator=(const ImportFile&) = delete;

    /// The next line that has a message behind the first `skip` lines. False: there is none, or there is a fault.
    bool next(MessageLine& message, std::size_t skip);
    void begin_again();

    /// That were read.
    std::size_t lines() const { return lines_; }
    /// What is wrong with the file, and in which line; empty where nothing is.
    const std::string& fault() const { return fault_; }

  private:
    bool next_line();
    bool read_more();
    void fail_in_line(const std::string& what);

    std::string name_;
    std::string fault_;
    std::string buffer_;
    std::size_t at_ = 0;     // in the buffer
    std::string_view line_;  // in the buffer
    std::size_t lines_ = 0;
    int file_ = -1;
    bool ended_ = false;
};

}  // namespace retryd::commands
