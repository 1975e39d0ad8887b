// What the templates leave open, made of the command line's and the configuration's own descriptions.
#pragma once

#include <iosfwd>
#include <map>
#include <string>

namespace retryd::manual {

/// man(7): every command with what it does and the options that are its own.
void print_commands(std::ostream& out);

/// man(7): the options of retryd itself, and those of all its reports.
void print_options(std::ostream& out);

/// man(7): every key with its default, what it is for and what is expected.
void print_keys(std::ostream& out);

/// YAML: every key with its default or an example, under a comment.
void print_reference(std::ostream& out);

/// Markdown: what each section is for and a table of its keys, by the section's name; under the empty name a table of
/// the keys that are in no section.
std::map<std::string, std::string> key_tables();

/// bash: the patterns of a `case`, one for all options that take a value.
void print_valued(std::ostream& out);

/// bash: the branches of a `case` over the command that has been typed, each setting `words`.
void print_words(std::ostream& out);

}  // namespace retryd::manual
