// Fills a template: retryd-manual VERSION DATE <TEMPLATE >PAGE. So the manual pages, the completion,
// docs/configuration.md and config/retryd.yaml say the same as --help and as the complaints about a configuration.
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "blocks.h"

namespace {

using Blocks = std::map<std::string, std::string>;

std::string text_of(const std::function<void(std::ostream&)>& print) {
    std::ostringstream out;
    print(out);
    std::string text = out.str();
    if (text.ends_with('\n')) text.pop_back();  // the template's line ends it
    return text;
}

std::string filled(std::string line, const Blocks& blocks) {
    for (const auto& [name, text] : blocks) {
        const std::size_t at = line.find(name);
        if (at != std::string::npos) line.replace(at, name.size(), text);
    }
    return line;
}

}  // namespace

int main(int argc, char* argv[]) {
    using namespace retryd::manual;
    if (argc != 3) {
        std::cerr << "usage: retryd-manual VERSION DATE <TEMPLATE >PAGE\n";
        return 64;
    }
    Blocks blocks{{"@VERSION@", argv[1]},
                  {"@DATE@", argv[2]},
                  {"@COMMANDS@", text_of(print_commands)},
                  {"@OPTIONS@", text_of(print_options)},
                  {"@KEYS@", text_of(print_keys)},
                  {"@REFERENCE@", text_of(print_reference)},
                  {"@VALUED@", text_of(print_valued)},
                  {"@WORDS@", text_of(print_words)}};
    for (const auto& [section, table] : key_tables())
        blocks.emplace("@TABLE" + (section.empty() ? "" : ' ' + section) + '@', table);
    for (std::string line; std::getline(std::cin, line);)
        std::cout << filled(line, blocks) << '\n';
    std::cout.flush();
    return std::cout ? 0 : 1;
}
