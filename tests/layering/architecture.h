// What docs/architecture.md says of the sources, to be held against them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "layering/rules.h"

namespace retryd::layering {

/// `1. `amqp/a.cpp`: `Class::function` takes …`, an item of a numbered list.
struct Step {
    std::string file;  // below src
    std::string function;
};

/// The numbered list that begins with a file: a message's way from socket to ack.
std::vector<Step> way_of_a_message(std::string_view document);

/// Every `folder/file.h` and `folder/file.cpp` in backquotes, in the order of the document.
std::vector<std::string> files_named_in(std::string_view document);

/// Steps whose file is not there or does not define the function.
Violations not_on_the_way(const std::vector<Step>& way, const Sources& sources);

}  // namespace retryd::layering
