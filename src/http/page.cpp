#include "http/page.h"

#include <openssl/evp.h>

#include <array>
#include <string_view>

namespace retryd::http {

namespace {

/// The hash, as a browser computes it, of the page's text between these two.
std::string hash_of(std::string_view begin, std::string_view end) {
    const auto from = page().find(begin) + begin.size();
    const std::string_view text = page().substr(from, page().find(end, from) - from);
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
    std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> base64{};
    const int length = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
    return "'sha256-" + std::string{base64.data(), base64.data() + length} + "'";
}

}  // namespace

const std::string& page_policy() {
    static const std::string policy = "default-src 'none'; connect-src 'self'; img-src data:; style-src " +
                                      hash_of("<style>", "</style>") + "; script-src " +
                                      hash_of("<script type=\"module\">", "</script>") +
                                      "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    return policy;
}

}  // namespace retryd::http
