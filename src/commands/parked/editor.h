// The text file that a person edits, and the editor that opens it.
#pragma once

#include <string>
#include <string_view>

#include "system/signals.h"

namespace retryd::commands {

/// In a folder of its own, which nobody else can look into ($TMPDIR or /tmp). It goes with the object unless it is to
/// be kept.
class EditFile {
  public:
    EditFile();
    ~EditFile();
    EditFile(const EditFile&) = delete;
    EditFile& operator=(const EditFile&) = delete;

    void write(std::string_view text);
    std::string read();
    void keep(bool kept) { kept_ = kept; }

    const std::string& name() const { return name_; }
    /// Why it cannot be written or read; empty where it can.
    const std::string& fault() const { return fault_; }

  private:
    void fail(const std::string& what);

    std::string folder_;
    std::string name_;
    std::string fault_;
    bool kept_ = false;
};

/// VISUAL, EDITOR, or vi: a command of the shell.
std::string editor_command();

struct EditorEnd {
    std::string why;           // it did not end well; empty where it did
    bool interrupted = false;  // we were: SIGTERM, SIGHUP
};

/// Runs it with the file's name behind it, at this terminal, until it ends. SIGINT and SIGQUIT are its own business as
/// long as it runs; what else comes of `signals` it is sent, too.
EditorEnd run_editor(const std::string& command, const std::string& file, const system::Signals& signals);

}  // namespace retryd::commands
