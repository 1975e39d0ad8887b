#include "screen.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <vector>

#include "interrupt.h"

namespace retryd::demo {
namespace {

constexpr std::string_view margin = "   ";
constexpr std::size_t widest_quote = 95;

/// In the order of Colour; plain has none.
constexpr std::array<std::string_view, 8> escapes{"", "1", "2", "31", "32", "33", "35", "36"};

bool colours_are_welcome() {
    const char* no_colour = std::getenv("NO_COLOR");
    return no_colour == nullptr || *no_colour == '\0';
}

/// Where to break a line that is too long: at a blank, if there is one.
std::size_t end_of_line(std::string_view text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end <= widest_quote) return end;
    const std::size_t blank = text.rfind(' ', widest_quote);
    return blank == std::string_view::npos || blank < widest_quote / 2 ? widest_quote : blank;
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    std::string_view indent;
    while (!text.empty()) {
        const std::size_t end = end_of_line(text);
        lines.push_back(std::string{indent}.append(text.substr(0, end)));
        const bool broken = end < text.size() && text[end] != '\n';
        if (!broken) {
            indent = "";
        } else if (indent.empty()) {
            indent = text.substr(0, text.find_first_not_of(' '));
        }
        text.remove_prefix(broken && text[end] != ' ' ? end : std::min(end + 1, text.size()));
    }
    return lines;
}

void write(const std::string& line) {
    std::cout << line << std::endl;  // at once: the audience is watching
}

}  // namespace

Screen::Screen() : terminal_(isatty(STDOUT_FILENO) == 1), coloured_(terminal_ && colours_are_welcome()) {}

std::string Screen::paint(Colour colour, std::string_view text) const {
    if (!coloured_ || colour == Colour::plain) return std::string{text};
    const std::string escape{escapes.at(static_cast<std::size_t>(colour))};
    return "\x1b[" + escape + "m" + std::string{text} + "\x1b[0m";
}

void Screen::blank() const {
    write("");
}

void Screen::title(std::string_view text) const {
    write(paint(Colour::bold, text));
}

void Screen::chapter(std::string_view heading) const {
    blank();
    write(paint(Colour::bold, heading));
    blank();
}

void Screen::say(std::string_view text) const {
    write(std::string{margin}.append(text));
}

void Screen::command(std::string_view text) const {
    std::string_view prompt = "$ ";
    for (const std::string& line : lines_of(text)) {
        say(paint(Colour::dim, prompt) + paint(Colour::bold, line));
        prompt = "> ";
    }
}

void Screen::quote(std::string_view text) const {
    for (const std::string& line : lines_of(text))
        say(paint(Colour::dim, line.empty() ? "|" : "| ") + line);
}

void Screen::complaint(std::string_view text) const {
    say(paint(Colour::red, "WRONG: ") + std::string{text});
}

void Screen::event(std::chrono::microseconds at, std::string_view letter, Colour colour, std::string_view verb,
                   std::string_view details) const {
    std::string time = seconds_text(at);
    time.insert(0, time.size() < 8 ? 8 - time.size() : 0, ' ');
    say(paint(Colour::dim, time) + "  " + padded(letter, 8) + paint(colour, padded(verb, 11)) + std::string{details});
}

void Screen::let_read() const {
    if (terminal_) rest(std::chrono::milliseconds{4000});
}

std::string seconds_text(std::chrono::microseconds time) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(3) << std::chrono::duration<double>(time).count() << " s";
    return text.str();
}

std::string padded(std::string_view text, std::size_t width) {
    std::string result{text};
    if (result.size() < width) result.append(width - result.size(), ' ');
    return result;
}

}  // namespace retryd::demo
