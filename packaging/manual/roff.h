// Plain texts as man(7) takes them.
#pragma once

#include <string>
#include <string_view>

namespace retryd::manual {

/// For a line of its own or a part of one: nothing in it is a request or an escape. What stands between backquotes
/// becomes bold instead.
std::string roff(std::string_view text);

/// In bold.
std::string bold(std::string_view text);

/// In italics: what the user replaces.
std::string italic(std::string_view text);

/// A text that ends like a sentence.
std::string sentence(std::string text);

}  // namespace retryd::manual
