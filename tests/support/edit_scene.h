// `retryd parked edit` at a terminal, with a script in the place of an editor.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "support/at_terminal.h"
#include "support/folder.h"
#include "support/parked_scene.h"
#include "support/shell.h"

namespace retryd::test {

class EditScene : public ParkedScene {
  public:
    EditScene() { config_written(); }

    /// The editor: lines of a shell, in which $1 is the file.
    void editor(const std::string& script) { std::ofstream(folder.file("editor")) << "set -e\n" << script << '\n'; }
    /// `retryd parked edit ARGUMENTS`, which goes on while the test does.
    std::unique_ptr<AtTerminal> edit(const std::string& arguments = "") {
        config_written();
        const std::string editor = "sh " + folder.file("editor");
        return std::make_unique<AtTerminal>("env -u VISUAL EDITOR=" + shell_word(editor) + " TMPDIR=" + temporary() +
                                            ' ' + shell_word(retryd_binary()) + " parked edit " + arguments + " -c " +
                                            daemon.config_file());
    }
    /// What is left where edit() keeps what a person has written; empty where nothing is.
    std::string kept() const {
        std::ostringstream text;
        for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path() + "/tmp")) {
            if (file.is_regular_file()) text << std::ifstream(file.path(), std::ios::binary).rdbuf();
        }
        return text.str();
    }
    bool nothing_kept() const { return std::filesystem::is_empty(folder.path() + "/tmp"); }

    TemporaryFolder folder;

  private:
    std::string temporary() const {
        std::filesystem::create_directory(folder.path() + "/tmp");
        return folder.path() + "/tmp";
    }
    void config_written() { daemon.write(config.yaml()); }
};

/// The entry that an edit has written down, the newest.
inline Table newest_edit(const Received& message) {
    const Value* edits = find(message.headers, "retryd-edited");
    if (edits == nullptr) return {};
    return std::get<Table>(std::get<Array>(edits->data).front().data);
}

}  // namespace retryd::test
