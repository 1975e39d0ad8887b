#include "amqp/proof_keys.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>
#include <fstream>
#include <iterator>
#include <new>
#include <string>

#include "core/siphash.h"

namespace retryd::amqp {
namespace {

constexpr int rounds = 200'000;

core::SipKey key_of(const unsigned char* bytes) {
    const auto* text = reinterpret_cast<const char*>(bytes);
    return {core::eight_bytes(text), core::eight_bytes(text + 8)};
}

/// What the keys of two error queues differ by.
std::string salt_of(const config::Settings& settings) {
    return "retryd-proof-1\n" + settings.broker.endpoints.front().vhost + '\n' + settings.policy.error_queue + '\n';
}

/// From what cannot be guessed.
core::SipKey key_from_random(const std::string& secret, const std::string& salt) {
    const std::string text = salt + secret;
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    unsigned int size = 0;
    if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
    return key_of(digest.data());
}

core::SipKey key_from_password(const std::string& password, const std::string& salt) {
    std::array<unsigned char, 16> key{};
    const auto* bytes = reinterpret_cast<const unsigned char*>(salt.data());
    if (PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()), bytes, static_cast<int>(salt.size()),
                          rounds, EVP_sha256(), static_cast<int>(key.size()), key.data()) != 1)
        throw std::bad_alloc();
    return key_of(key.data());
}

/// It was readable when the configuration was read, and is needed for the connection, which says so where it is not.
std::string contents_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

core::ProofKeys proof_keys(const config::Settings& settings) {
    const std::string salt = salt_of(settings);
    core::ProofKeys keys;
    for (const std::string& secret : settings.proof_secrets)
        keys.push_back(key_from_random(secret, salt));
    if (!keys.empty()) return keys;
    if (settings.broker.auth_mechanism == config::AuthMechanism::external)
        return {key_from_random(contents_of(settings.broker.tls.key_file), salt)};
    return {key_from_password(settings.broker.endpoints.front().password, salt)};
}

}  // namespace retryd::amqp
