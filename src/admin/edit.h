// Editing a parked message before it goes home: what may be changed, what was changed, and the record of that in the
// header `retryd-edited`, an array of tables, the newest first. Only `retryd parked edit` writes that header; the
// daemon leaves it alone, as it does `retryd-replays`.
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

/// One edit. Texts are views into the header table, cut to longest_edit_text; empty if absent.
struct Edit {
    std::uint64_t time = 0;                     // seconds
    std::string_view by = {};                   // user@host
    std::vector<std::string_view> fields = {};  // as changed_fields names them; at most most_edited_fields
};

inline constexpr std::size_t most_edits = 16;
inline constexpr std::size_t most_edited_fields = 32;
inline constexpr std::size_t longest_edit_text = 255;

/// At most most_edits. Anyone who may publish can forge the header: an element that is not a table ends the list, and a
/// field of another type is ignored.
std::vector<Edit> read_edits(const core::Table& headers);

/// Whether a person may change that header: neither retryd's own headers nor those that the broker writes can be
/// changed.
bool is_editable_header(std::string_view name);

/// The headers that may be changed, in their order.
std::vector<core::Field> editable_headers(const core::Message& message);

/// The names of what differs: `body`, properties, `header NAME`. Only editable headers are compared, and the order of
/// headers with different names does not count.
std::vector<std::string> changed_fields(const core::Message& was, const core::Message& is);

/// Compares the messages as they were published: ignores what the broker counts (x-delivery-count, x-acquired-count)
/// and the order of headers with different names, because RabbitMQ 3.x sorts them on redelivery (seen on 3.10.8).
bool same_message(const core::Message& left, const core::Message& right);

/// Owns the structure of a composed message, not its texts.
struct EditScratch {
    std::vector<core::Field> fields;
    std::deque<std::vector<core::Field>> tables;
    std::deque<std::vector<core::Value>> names;
    std::vector<core::Value> elements;
};

/// The message to be parked or replayed: properties, editable headers and body of `edited`, all other headers of
/// `original`, with `edit` added to the record of edits. The result holds views into all arguments.
core::Message compose_edited(const core::Message& original, const core::Message& edited, const Edit& edit,
                             EditScratch& scratch);

}  // namespace retryd::admin
