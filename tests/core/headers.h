// Header tables for the tests of core: made of one line each, and read as one line.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/proof.h"
#include "core/value.h"

namespace retryd::core::test {

inline Value text(std::string_view value) {
    return Value::of_longstr(value);
}
inline Value number(std::int64_t value) {
    return Value::of_long(value);
}
inline Value seconds(std::uint64_t value) {
    return Value::of_timestamp(value);
}

/// An entry of x-death as the broker writes it.
struct DeathEntry {
    std::string_view queue = "email";
    std::string_view reason = "rejected";
    std::int64_t count = 1;
    std::uint64_t time = 1'700'000'000;
    std::string_view exchange = "shop";
    std::string_view routing_key = "order.paid";
    std::optional<std::string_view> original_expiration = std::nullopt;
};

/// Owns the arrays and tables that its values point into; texts are the caller's (literals, mostly).
class Headers {
  public:
    Table fields(std::vector<Field> fields);
    /// The same, with the proof that those of ours are retryd's.
    Table proven(std::vector<Field> fields);
    Value table(std::vector<Field> fields);
    Value array(std::vector<Value> elements);

    Value death(const DeathEntry& entry);
    /// A header table that holds an x-death of these entries and nothing else.
    Table deaths(const std::vector<DeathEntry>& entries);
    /// The same entry with one field replaced, or taken off where there is no value.
    Value death_with(std::string_view field, std::optional<Value> value);

    /// A value of every kind of the wire, nested ones not empty.
    std::vector<Value> one_of_each();

  private:
    std::deque<std::vector<Field>> tables_;
    std::deque<std::vector<Value>> arrays_;
    std::deque<ProofText> proofs_;
};

/// `{a=l:1, b=S:x, c=A:[t:true]}`: kinds and contents, in order, so that one comparison holds all of it.
std::string describe(const Table& table);
std::string describe(const Value& value);

}  // namespace retryd::core::test
