#include "core/allocations.h"

#include <cstdlib>
#include <new>

namespace {
std::size_t counted = 0;
}  // namespace

void* operator new(std::size_t size) {
    ++counted;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc{};
}
// Replaced together with their nothrow forms: a sanitizer would pair its own with ours otherwise.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++counted;
    return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
    std::free(memory);
}

namespace retryd::test {

std::size_t allocations() {
    return counted;
}

}  // namespace retryd::test
