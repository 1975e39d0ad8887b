// What the audience sees: at most 100 columns, coloured on a terminal only.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace retryd::demo {

enum class Colour { plain, bold, dim, red, green, yellow, magenta, cyan };

class Screen {
  public:
    /// Colours where standard output is a terminal and NO_COLOR is unset or empty.
    Screen();

    void blank() const;
    void title(std::string_view text) const;
    void chapter(std::string_view heading) const;
    /// One line of the narrator.
    void say(std::string_view text) const;
    /// A command as a person would type it; several lines if it is long.
    void command(std::string_view text) const;
    /// Lines that are not the narrator's: a file, the output of a command. Long ones are wrapped.
    void quote(std::string_view text) const;
    void complaint(std::string_view text) const;

    /// One thing that happened, `at` after the first message was sent.
    void event(std::chrono::microseconds at, std::string_view letter, Colour colour, std::string_view verb,
               std::string_view details) const;

    std::string paint(Colour colour, std::string_view text) const;

    /// A pause to read in, on a terminal only.
    void let_read() const;

  private:
    bool terminal_;
    bool coloured_;
};

/// Seconds with three decimals: `2.013 s`.
std::string seconds_text(std::chrono::microseconds time);

/// Filled up with blanks; longer ones stay as they are.
std::string padded(std::string_view text, std::size_t width);

}  // namespace retryd::demo
