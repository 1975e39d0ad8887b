// The stack for decoding headers: half of it is enough for the deepest header that fits a frame, in a thread with no
// more.
#include "amqp/background.h"

#include <pthread.h>

#include <algorithm>
#include <vector>

#include "amqp/codec.h"
#include "support/catch.h"

namespace retryd::amqp::background_test {
namespace {

constexpr std::size_t frame_max = 131072;

void put_size(std::vector<unsigned char>& into, std::size_t size) {
    for (const int shift : {24, 16, 8, 0})
        into.push_back(static_cast<unsigned char>(size >> shift));
}

/// One field that holds an array in an array, as many as fit: five bytes each, fewer than a table takes.
std::vector<unsigned char> deepest_header() {
    constexpr std::size_t levels = (frame_max - 100) / 5;
    std::vector<unsigned char> encoded;
    put_size(encoded, 1 + levels * 5);
    encoded.push_back(0);  // the field's name
    for (std::size_t left = levels; left-- > 0;) {
        encoded.push_back('A');
        put_size(encoded, left * 5);
    }
    return encoded;
}

struct Attempt {
    std::vector<unsigned char> encoded = deepest_header();
    int status = 1;
    bool readable = true;
};

void* decode(void* argument) {
    auto& attempt = *static_cast<Attempt*>(argument);
    amqp_pool_t pool;
    init_amqp_pool(&pool, frame_max);
    amqp_table_t table{};
    std::size_t offset = 0;
    attempt.status = amqp_decode_table({attempt.encoded.size(), attempt.encoded.data()}, &pool, &table, &offset);
    if (attempt.status == AMQP_STATUS_OK) {
        amqp::Arena arena;
        attempt.readable = amqp::read_table(table, arena).has_value();
    }
    empty_amqp_pool(&pool);
    return nullptr;
}

}  // namespace

TEST_CASE("decode stack: half of it is enough for the deepest header, and that header is not followed") {
    Attempt attempt;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    REQUIRE(pthread_attr_setstacksize(&attributes, amqp::decode_stack_bytes / 2) == 0);
    pthread_t thread{};
    REQUIRE(pthread_create(&thread, &attributes, decode, &attempt) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    if (attempt.status == AMQP_STATUS_OK) {
        CHECK_FALSE(attempt.readable);
    } else {
        CHECK(attempt.status == AMQP_STATUS_BAD_AMQP_DATA);  // 0.14 and later give up at a depth of 100
    }
}

}  // namespace retryd::amqp::background_test
