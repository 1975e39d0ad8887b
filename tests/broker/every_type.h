// Headers of every type that AMQP 0-9-1 has.
#pragma once

#include <string>

#include "support/value.h"

namespace retryd::test {

/// One field of each type, with extreme and empty values, nested tables and arrays.
inline Table one_of_each(const std::string& prefix) {
    const Table inner{{"text", longstr("inner")}, {"none", Value{}}, {"empty", table({})}};
    return {
        {prefix + "t", boolean(true)},
        {prefix + "t0", boolean(false)},
        {prefix + "b", signed_of('b', -128)},
        {prefix + "B", unsigned_of('B', 255)},
        {prefix + "s", signed_of('s', -32768)},
        {prefix + "u", unsigned_of('u', 65535)},
        {prefix + "I", int32(-2147483648LL)},
        {prefix + "i", unsigned_of('i', 4294967295ULL)},
        {prefix + "l", int64(-9223372036854775807LL)},
        {prefix + "f", Value{'f', 1.5F}},
        {prefix + "d", Value{'d', -2.25e300}},
        {prefix + "D", Value{'D', Decimal{3, 123456}}},
        {prefix + "S", longstr("žluťoučký kůň \n\t\"quoted\"")},
        {prefix + "S0", longstr("")},
        {prefix + "x", bytes(std::string("\0\1\xff binary", 10))},
        {prefix + "T", timestamp(1'700'000'000)},
        {prefix + "V", Value{}},
        {prefix + "F", table(inner)},
        {prefix + "F0", table({})},
        {prefix + "A", array({int32(1), longstr("two"), array({boolean(true), Value{}}), table(inner)})},
        {prefix + "A0", array({})},
    };
}

}  // namespace retryd::test
