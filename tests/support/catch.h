// Catch2, version 2 or 3, whichever the distribution has.
#pragma once

// Without a try block for each assertion: an eighth of the time that a test takes to compile. What throws within one
// ends its test case all the same.
#define CATCH_CONFIG_FAST_COMPILE

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>  // IWYU pragma: export
#else
#include <catch2/catch.hpp>  // IWYU pragma: export
#endif
