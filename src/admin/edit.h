// A parked message that a person changes before it goes home: what may be changed, what was, and what is written down
// about it in the header `retryd-edited`: an array of tables, the newest first. Only `retryd parked edit` writes that
// header; the daemon leaves it as it is, like `retryd-replays`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/message.h"
#include "core/value.h"

namespace retryd::admin {

/// One time that a message was changed. Texts are views into the header table, cut to longest_edit_text; empty where
/// absent.
struct Edit {
    std::uint64_t time = 0;                     // seconds
    std::string_view by = {};                   // user@host
    std::vector<std::string_view> fields = {};  // as changed_fields names them; at most most_edited_fields
};

inline constexpr std::size_t most_edits = 16;
inline constexpr std::size_t most_edited_fields = 32;
inline constexpr std::size_t longest_edit_text = 255;

/// At most most_edits. Anyone who may publish can forge the header: an element that is no table ends the list, a field
/// of another type is as if it were not there.
std::vector<Edit> read_edits(const core::Table& headers);

/// Whether a person may change it: it is neither retryd's nor one that the broker writes. All others stay as they are.
bool is_editable_header(std::string_view name);

/// The headers that may be changed, in their order.
std::vector<core::Field> editable_headers(const core::Message& message);

/// What differs: `body`, properties by their names, `header NAME`; of headers only the editable ones. The order of
/// headers with different names does not count. Empty where nothing does.
std::vector<std::string> changed_fields(const core::Message& was, const core::Message& is);

/// As published: without what the broker counts on a delivery (x-delivery-count, x-acquired-count), and in whatever
/// order headers with different names are, for RabbitMQ 3.x sorts them when it delivers again (seen on 3.10.8).
bool same_message(const core::Message& left, const core::Message& right);

/// Owns the structure of a composed message, not its texts.
struct EditScratch {
    std::vector<core::Field> fields;
    std::deque<std::vector<core::Field>> tables;
    std::deque<std::vector<core::Value>> names;
    std::vector<core::Value> elements;
};

/// As it is to be parked, or replayed: properties, editable headers and body of `edited`, all other headers of
/// `original`, and `edit` on top of those that are written down there. The result holds views into all arguments.
core::Message compose_edited(const core::Message& original, const core::Message& edited, const Edit& edit,
                             EditScratch& scratch);

}  // namespace retryd::admin
