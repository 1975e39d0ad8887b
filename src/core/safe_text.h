// What others wrote, made fit to be shown: names on a broker, routing keys, headers, a broker's own words.
//
// Whoever may declare a queue or publish a message chooses such a text. In a terminal, a log or a page it must not move
// the cursor, change colours, turn the direction of writing, begin a line or hide a part of itself. Every text that
// leaves the process passes one of these functions, all of which agree on what is escaped (`is_unsafe`) and how:
//
//   \\                 a backslash
//   \xNN               a control character of ASCII, or a byte that is no UTF-8
//   \uNNNN \UNNNNNNNN  another unsafe character
//
// The shell (bash, zsh) reads this spelling back in $'…', and YAML in "…": so a name that was seen can be given as an
// argument or written into the configuration. Letters, digits and signs of any script stay as they are, and so do
// emoji.
#pragma once

#include <string>
#include <string_view>

namespace retryd::core {

/// What a terminal obeys instead of showing it, what turns the text around it, and what cannot be seen: control
/// characters (C0, DEL, C1), ends of lines and paragraphs, and Unicode's Default_Ignorable_Code_Point, which has the
/// bidirectional controls, zero-width characters, tags and variation selectors.
bool is_unsafe(char32_t character);

/// Whether it is UTF-8; NUL is a character like any other.
bool is_utf8(std::string_view text);

/// A name, or another text that is shown as a whole: on one line, unambiguous.
std::string safe_name(std::string_view name);

/// The same in single quotes; one within is written \'. With a $ before it, it is that name as a word of a shell.
std::string quoted(std::string_view name);

/// A line of our own words with safe names in it, on its way out: escapes what is unsafe all the same. Backslashes
/// stay, so that a text can pass any number of times.
std::string safe_line(std::string_view text);

/// As safe_line over several lines: line ends and tabs stay.
std::string safe_lines(std::string_view text);

/// JSON as the serializer has written it, which must be UTF-8: unsafe characters within its strings become JSON's own
/// \uNNNN. Whoever parses it gets the exact text.
std::string safe_json(std::string_view json);

/// Whether safe_name() would change more than backslashes.
bool is_safe(std::string_view text);

}  // namespace retryd::core
