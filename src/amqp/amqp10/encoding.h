// The little of AMQP 1.0's encoding that amqp10/receiver.h needs: writing the performatives of a receiver, and reading
// what a broker sends, which holds what strangers have written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retryd::amqp::amqp10 {

/// Codes of what is described: frames, and the parts of a message.
enum class Code : std::uint8_t {
    open = 0x10,
    begin = 0x11,
    attach = 0x12,
    flow = 0x13,
    transfer = 0x14,
    disposition = 0x15,
    detach = 0x16,
    end = 0x17,
    close = 0x18,
    error = 0x1d,
    accepted = 0x24,
    rejected = 0x25,
    released = 0x26,
    source = 0x28,
    target = 0x29,
    sasl_mechanisms = 0x40,
    sasl_init = 0x41,
    sasl_outcome = 0x44,
    message_annotations = 0x72,
    properties = 0x73,
    application_properties = 0x74,
};

// Encoded values. A list of them, with its code, is a performative.
std::string null();
std::string boolean(bool value);
std::string byte(std::uint8_t value);
std::string number(std::uint32_t value);
std::string text(std::string_view value);
std::string symbol(std::string_view value);
std::string binary(std::string_view value);
std::string list(Code code, const std::vector<std::string>& items);

/// A value that was read: its constructor, and its bytes without it. Views into what it was read from.
struct Item {
    std::uint8_t constructor = 0x40;                   // null
    std::string_view bytes;                            // of a list, a map or an array what follows its size
    std::optional<std::uint64_t> code = std::nullopt;  // where it is described by a number

    /// Nothing where it is no text, symbol or binary.
    std::optional<std::string_view> text() const;
    /// Nothing where it is no unsigned number.
    std::optional<std::uint64_t> number() const;
    bool is_true() const;
    /// Of a list or a map, in which names and values take turns, the first 10,000; else, and where it makes no sense,
    /// none.
    std::vector<Item> items() const;
};

/// Takes the next value off the bytes. Nothing where they make no sense.
std::optional<Item> take_item(std::string_view& bytes);

}  // namespace retryd::amqp::amqp10
