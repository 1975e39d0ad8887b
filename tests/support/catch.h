// Catch2, whichever of its two generations the distribution ships.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>  // IWYU pragma: export
#else
#include <catch2/catch.hpp>  // IWYU pragma: export
#endif
