#include "amqp/content.h"

#include "amqp/error.h"

namespace retryd::amqp {
namespace {

constexpr std::size_t kept_capacity = std::size_t{1} << 20;
constexpr std::uint64_t largest_body = std::uint64_t{512} << 20;  // RabbitMQ's own upper bound
constexpr std::size_t pool_page = std::size_t{16} * 1024;

[[noreturn]] void unexpected(const char* what) {
    throw Error(Error::Kind::protocol, std::string{"the broker sent "} + what);
}

}  // namespace

Content::Content() {
    init_amqp_pool(&pool_, pool_page);
}

Content::~Content() {
    empty_amqp_pool(&pool_);
}

void Content::begin_delivery(core::DeliveryTag tag, bool redelivered) {
    if (kind_ != Kind::none) unexpected("a delivery before the end of the previous message");
    kind_ = Kind::delivery;
    tag_ = tag;
    redelivered_ = redelivered;
}

void Content::begin_returned() {
    if (kind_ != Kind::none) unexpected("a returned message before the end of the previous message");
    kind_ = Kind::returned;
}

bool Content::add_header(const amqp_frame_t& frame) {
    if (!awaits_header()) unexpected("a content header that belongs to no message");
    const auto& header = frame.payload.properties;
    if (header.class_id != AMQP_BASIC_CLASS) unexpected("a content header of an unknown class");
    if (header.body_size > largest_body) unexpected("a message larger than 512 MiB");
    has_header_ = true;
    body_size_ = header.body_size;
    if (kind_ == Kind::delivery) {
        properties_ = static_cast<const amqp_basic_properties_t*>(header.decoded);
        header_ = header.raw;
    }
    return body_size_ == 0;
}

bool Content::add_body(const amqp_bytes_t& fragment) {
    if (!has_header_) unexpected("a body that belongs to no message");
    if (fragment.len > body_size_ - received_) unexpected("a body larger than its header says");
    received_ += fragment.len;
    const bool whole = received_ == body_size_;
    if (kind_ == Kind::delivery) {
        if (whole && gathered_.empty()) {
            only_fragment_ = fragment;
        } else {
            gather(fragment);
        }
    }
    return whole;
}

void Content::gather(const amqp_bytes_t& fragment) {
    const std::string_view bytes = view_of(fragment);
    if (gathered_.empty()) {
        const std::string_view header = view_of(header_);
        gathered_header_.assign(header.begin(), header.end());
        gathered_.reserve(static_cast<std::size_t>(body_size_));
    }
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
}

const amqp_basic_properties_t* Content::properties() {
    if (gathered_.empty()) return properties_;
    void* decoded = nullptr;
    const amqp_bytes_t encoded{gathered_header_.size(), gathered_header_.data()};
    if (amqp_decode_properties(AMQP_BASIC_CLASS, &pool_, encoded, &decoded) < 0) return nullptr;
    return static_cast<const amqp_basic_properties_t*>(decoded);
}

std::string_view Content::body() const {
    if (gathered_.empty()) return view_of(only_fragment_);
    return {gathered_.data(), gathered_.size()};
}

void Content::finish() {
    kind_ = Kind::none;
    has_header_ = false;
    received_ = 0;
    properties_ = nullptr;
    only_fragment_ = {};
    recycle_amqp_pool(&pool_);
    if (gathered_.capacity() > kept_capacity) {
        std::vector<char>().swap(gathered_);  // assigning {} would keep the memory
    } else {
        gathered_.clear();
    }
}

}  // namespace retryd::amqp
