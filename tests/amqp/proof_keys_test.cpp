#include "amqp/proof_keys.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/catch.h"

namespace retryd::amqp::proof_keys_test {
namespace {

config::Settings with_password(const std::string& password) {
    config::Settings settings;
    settings.broker.endpoints.front().password = password;
    return settings;
}

}  // namespace

TEST_CASE("proof keys: with a password every daemon with the same one has the same key, and no other one") {
    const config::Settings settings = with_password("secret");
    const core::ProofKeys keys = proof_keys(settings);
    REQUIRE(keys.size() == 1);
    config::Settings elsewhere = settings;
    elsewhere.broker.endpoints.front().host = "another-node";
    elsewhere.broker.endpoints.front().username = "another";
    CHECK(proof_keys(elsewhere) == keys);
    CHECK(proof_keys(with_password("secret2")) != keys);
    elsewhere.broker.endpoints.front().vhost = "another";
    CHECK(proof_keys(elsewhere) != keys);
    elsewhere = settings;
    elsewhere.policy.error_queue = "another";
    CHECK(proof_keys(elsewhere) != keys);
}

TEST_CASE("proof keys: it is this one, today and with every later version") {
    const core::ProofKeys keys = proof_keys(with_password("secret"));
    config::Settings settings = with_password("secret");
    settings.proof_secrets = {"0123456789abcdef0123456789abcdef"};
    const core::ProofKeys of_file = proof_keys(settings);
    CHECK(keys.front() == core::SipKey{0xf5c8bb78498b923bULL, 0x6caf7e0f45aebc43ULL});
    CHECK(of_file.front() == core::SipKey{0xc1694a39de8595c6ULL, 0xb6ecc28a8f951180ULL});
}

TEST_CASE("proof keys: with a file the password does not matter, and every line is a key, in order") {
    config::Settings one = with_password("secret");
    one.proof_secrets = {std::string(32, 'a'), std::string(32, 'b')};
    config::Settings other = with_password("else");
    other.proof_secrets = {std::string(32, 'b')};
    const core::ProofKeys keys = proof_keys(one);
    REQUIRE(keys.size() == 2);
    CHECK(keys[0] != keys[1]);
    CHECK(proof_keys(other) == core::ProofKeys{keys[1]});
}

TEST_CASE("proof keys: logged in with a certificate, it is made from the private key") {
    const auto file = std::filesystem::temp_directory_path() / "retryd-proof-keys-test.pem";
    config::Settings settings;
    settings.broker.auth_mechanism = config::AuthMechanism::external;
    settings.broker.tls.key_file = file.string();
    const auto keys_with = [&](const std::string& pem) {
        std::ofstream(file) << pem;
        return proof_keys(settings);
    };
    const core::ProofKeys keys = keys_with("one");
    CHECK(keys.size() == 1);
    CHECK(keys_with("other") != keys);
    CHECK(keys_with("one") == keys);
    std::filesystem::remove(file);
}

}  // namespace retryd::amqp::proof_keys_test
