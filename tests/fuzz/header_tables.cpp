// The bytes of a content header, through the functions that the dispatcher uses for a delivery.
#include <memory>

#include "amqp/background.h"
#include "amqp/codec.h"
#include "amqp/connection.h"
#include "fuzz/repeated_deaths.h"
#include "fuzz/require.h"
#include "fuzz/targets.h"

namespace retryd::fuzz {
namespace {

constexpr std::string_view body = "a body in two frames";

/// As rabbitmq-c hands over a header frame.
class Delivered {
  public:
    explicit Delivered(std::string_view payload) : raw_(payload.begin(), payload.end()) {
        init_amqp_pool(&pool_, 4096);
    }
    ~Delivered() { empty_amqp_pool(&pool_); }
    Delivered(const Delivered&) = delete;
    Delivered& operator=(const Delivered&) = delete;

    /// False where rabbitmq-c cannot decode it: the connection is given up then.
    bool decode() {
        const amqp_bytes_t encoded{raw_.size(), raw_.data()};
        void* decoded = nullptr;
        if (amqp_decode_properties(AMQP_BASIC_CLASS, &pool_, encoded, &decoded) < 0) return false;
        frame_.frame_type = AMQP_FRAME_HEADER;
        frame_.channel = 1;
        frame_.payload.properties = {AMQP_BASIC_CLASS, body.size(), decoded, encoded};
        return true;
    }

    const amqp_frame_t& frame() const { return frame_; }
    /// The frame's memory is used again for the next one.
    void release() {
        std::fill(raw_.begin(), raw_.end(), '\x55');
        recycle_amqp_pool(&pool_);
    }

  private:
    std::vector<char> raw_;
    amqp_pool_t pool_;
    amqp_frame_t frame_{};
};

core::Array forged_deaths(const core::Table& headers) {
    return core::array_of(core::find(headers, "x-death")).value_or(core::Array{});
}

}  // namespace

void header_tables(std::string_view input) {
    static const bool provided = (amqp::provide_decode_stack(), true);
    (void)provided;
    Bytes bytes{input};
    const std::uint8_t options = bytes.byte();
    Bytes choices{bytes.text(8)};
    Delivered delivered{bytes.rest()};
    if (!delivered.decode()) return;

    amqp::MessageAssembler content;
    content.begin_delivery(1, false, "");
    content.add_header(delivered.frame());
    const std::size_t first = (options & 2U) != 0 ? 5 : body.size();
    content.add_body(amqp::bytes_of(body.substr(0, first)));
    if (first < body.size()) {
        delivered.release();
        content.add_body(amqp::bytes_of(body.substr(first)));
    }
    const auto* const properties = content.properties();
    require(properties != nullptr, "what was decoded once can be decoded again");
    amqp::Arena arena;
    const auto read = amqp::read_properties(*properties, arena);
    if (!read) return;  // nests too deep: it goes to the catch-all unread
    require(encoded(*read) == encoded_by_library(*properties), "what is read is what is there, type by type");
    const core::Message message{*read, content.body()};
    require(message.body == body, "the body is put together");

    CheckedFlow flow{policy_of((options & 1U) == 0)};
    const bool keeps_forging = (options & 4U) != 0;
    retry_until_parked(flow, message, keeps_forging ? forged_deaths(read->header_table()) : core::Array{}, choices);
}

}  // namespace retryd::fuzz
