// The queue in which what is in flight is kept.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace retryd::relay {

/// A FIFO in one piece of memory that is used again and again.
///
/// Every message passes through two of them, and must not allocate on its way (tests/instructions counts that). A
/// std::deque, however short it stays, moves through memory: it allocates a block for every 512 bytes that are pushed
/// (GCC's libstdc++) and frees one for as many that are popped. A boost::circular_buffer stays in place but does not
/// grow: when it is full, push_back overwrites the oldest element, so growing would have to be written around it. And
/// relay uses no library.
///
/// Grows as need be and never shrinks. References are valid until the next push_back.
template <typename T>
class Ring {
  public:
    void push_back(T value) {
        if (size_ == slots_.size()) grow();
        slots_[place(size_)] = std::move(value);
        ++size_;
    }

    /// What the element owned is let go at once.
    void pop_front() {
        front() = T{};
        first_ = place(1);
        --size_;
    }

    void clear() {
        while (!empty())
            pop_front();
    }

    T& operator[](std::size_t index) { return slots_[place(index)]; }
    const T& operator[](std::size_t index) const { return slots_[place(index)]; }
    T& front() { return slots_[first_]; }
    const T& front() const { return slots_[first_]; }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

  private:
    /// The number of slots is a power of two.
    std::size_t place(std::size_t index) const { return (first_ + index) & (slots_.size() - 1); }

    void grow() {
        constexpr std::size_t fewest = 16;
        std::vector<T> larger(std::max(fewest, 2 * slots_.size()));
        for (std::size_t i = 0; i < size_; ++i)
            larger[i] = std::move((*this)[i]);
        slots_ = std::move(larger);
        first_ = 0;
    }

    std::vector<T> slots_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace retryd::relay
