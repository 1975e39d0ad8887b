#include "core/broker_features.h"

#include "support/catch.h"

namespace retryd::core::broker_features_test {
namespace {

std::string parsed(std::string_view text) {
    const auto version = parse_version(text);
    return version ? to_string(*version) : "(none)";
}

BrokerFeatures features(std::string_view text) {
    return features_of(parse_version(text).value());
}

}  // namespace

TEST_CASE("a broker's version is the numbers at its front") {
    CHECK(parsed("4.0.5") == "4.0.5");
    CHECK(parsed("3.10.8") == "3.10.8");
    CHECK(parsed("3.13.7-rc.1") == "3.13.7");
    CHECK(parsed("4.3.6+deb") == "4.3.6");
    CHECK(parsed("4.3.0-beta.2+g1a2b3c") == "4.3.0");
    CHECK(parsed("3.8.34.1") == "3.8.34");
    CHECK(parsed("10.20.30") == "10.20.30");
}

TEST_CASE("a patch that is missing or no number is zero") {
    CHECK(parsed("4.1") == "4.1.0");
    CHECK(parsed("4.1.") == "4.1.0");
    CHECK(parsed("4.1.x") == "4.1.0");
    CHECK(parsed("4.1-rc.1") == "4.1.0");
    CHECK(parsed("4.1-2") == "4.1.0");
    CHECK(parsed("4.1.-2") == "4.1.0");
    CHECK(parsed("4.1.99999999999") == "4.1.0");
}

TEST_CASE("what has not two numbers at its front is no version") {
    for (const std::string_view text : {"", ".", "4", "4.", "4.x", "4..1", "v4.0", "x.4.0", " 4.0", "4 .0", "-4.0.5",
                                        "4.-1.0", "-4", "+4.0", "99999999999.1.0", "4.99999999999", "%%VSN%%"}) {
        CAPTURE(text);
        CHECK(parsed(text) == "(none)");
    }
    CHECK(parsed(std::string_view{"4.10", 2}) == "(none)");
    CHECK(parsed(std::string_view{"4.10.8", 3}) == "4.1.0");
}

TEST_CASE("versions are ordered by their numbers, not their letters") {
    CHECK(BrokerVersion{3, 9, 29} < BrokerVersion{3, 10, 0});
    CHECK(BrokerVersion{3, 13, 7} < BrokerVersion{4, 0, 0});
    CHECK(BrokerVersion{4, 0, 9} < BrokerVersion{4, 0, 10});
    CHECK(BrokerVersion{4, 0, 5} == *parse_version("4.0.5"));
}

TEST_CASE("quorum queues have a TTL and at-least-once dead-lettering from 3.10 on") {
    for (const std::string_view version : {"3.8.9", "3.9.0", "3.9.29", "2.99.99"}) {
        CAPTURE(version);
        CHECK_FALSE(features(version).quorum_ttl);
    }
    for (const std::string_view version : {"3.10.0", "3.10.8", "3.13.7", "4.0.0", "4.3.6", "10.0.0"}) {
        CAPTURE(version);
        CHECK(features(version).quorum_ttl);
    }
}

TEST_CASE("a quorum queue has a delivery limit by default from 4.0 on, and never before") {
    for (const std::string_view version : {"3.8.9", "3.10.8", "3.13.7", "3.99.99"}) {
        CAPTURE(version);
        CHECK_FALSE(features(version).default_delivery_limit);
    }
    for (const std::string_view version : {"4.0.0", "4.0.5", "4.2.9", "4.3.6", "5.0.0"}) {
        CAPTURE(version);
        CHECK(features(version).default_delivery_limit);
    }
}

TEST_CASE("an unlimited queue never rests on 4.0.0 to 4.1.4 only") {
    for (const std::string_view version : {"3.13.7", "4.1.5", "4.1.6", "4.2.0", "4.3.6"}) {
        CAPTURE(version);
        CHECK_FALSE(features(version).unlimited_queue_never_rests);
    }
    for (const std::string_view version : {"4.0.0", "4.0.5", "4.1.0", "4.1.4"}) {
        CAPTURE(version);
        CHECK(features(version).unlimited_queue_never_rests);
    }
}

TEST_CASE("priorities hold back the expiry of others on 4.0 to 4.2 only") {
    for (const std::string_view version : {"3.8.9", "3.10.8", "3.13.7", "4.3.0", "4.3.6", "5.0.0", "5.1.0"}) {
        CAPTURE(version);
        CHECK_FALSE(features(version).priority_blocks_expiry);
    }
    for (const std::string_view version : {"4.0.0", "4.0.5", "4.1.0", "4.2.0", "4.2.9", "4.2.99"}) {
        CAPTURE(version);
        CHECK(features(version).priority_blocks_expiry);
    }
}

TEST_CASE("a pre-release counts as its release") {
    CHECK(features("4.0.0-rc.1").default_delivery_limit);
    CHECK_FALSE(features("4.3.0-beta.1").priority_blocks_expiry);
}

}  // namespace retryd::core::broker_features_test
