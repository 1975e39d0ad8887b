// Memory, descriptors and threads of a process, and whether they grow.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace retryd::stress {

struct Footprint {
    long resident_kib = 0;
    long descriptors = 0;
    long threads = 0;
};

/// Zeros when there is no such process.
Footprint footprint_of(pid_t process);

/// The median of each, over the readings [from, to). All zero where there is none.
Footprint median_of(const std::vector<Footprint>& readings, std::size_t from, std::size_t to);

/// Of readings at equal distances: what it was after the first tenth, and what at the end (medians of a tenth each).
struct Growth {
    Footprint begin;
    Footprint end;
    /// Memory within a twentieth and 1 MiB, the rest exactly.
    bool none() const;
};
Growth growth_of(const std::vector<Footprint>& readings);

std::string to_string(const Footprint& footprint);

}  // namespace retryd::stress
