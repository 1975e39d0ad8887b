// Catch2, version 2 or 3, whichever the distribution has.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>  // IWYU pragma: export
#else
#include <catch2/catch.hpp>  // IWYU pragma: export
#endif
