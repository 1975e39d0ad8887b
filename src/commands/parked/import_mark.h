// How far an import is, in a file beside the one that is imported: FILE.imported. It is there while an import is under
// way and after one that ended early, also one that was killed; who imports that file again is told.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace retryd::commands {

class ImportMark {
  public:
    explicit ImportMark(const std::string& imported_file) : name_(imported_file + ".imported") {}
    ~ImportMark();
    ImportMark(const ImportMark&) = delete;
    ImportMark& operator=(const ImportMark&) = delete;

    const std::string& name() const { return name_; }
    /// All up to this line was settled when an earlier import ended early; nothing where none did.
    std::optional<std::size_t> left() const;

    /// All up to this line is settled. Written down whenever it is most_unwritten lines more.
    void settled(std::size_t lines);
    /// The import ends here.
    void end(std::size_t lines);
    /// All is imported: there is nothing to go on with.
    void remove();
    /// Why nothing can be written there; empty where it can.
    const std::string& fault() const { return fault_; }

    static constexpr std::size_t most_unwritten = 500;

  private:
    void write(std::size_t lines);

    std::string name_;
    std::string fault_;
    std::size_t written_ = 0;
    int file_ = -1;
};

}  // namespace retryd::commands
