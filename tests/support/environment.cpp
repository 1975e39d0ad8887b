#include "support/environment.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "support/shell.h"

namespace retryd::test {

std::string retryd_binary() {
    const char* other = std::getenv("RETRYD_TEST_BINARY");
    return other != nullptr ? other : RETRYD_BINARY;
}

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0')
        throw std::runtime_error(std::string(name) +
                                 " is not set: these tests need a RabbitMQ; run them with ./test, "
                                 "or source the env file of scripts/broker or scripts/cluster first");
    return value;
}

std::uint32_t this_many(const char* name, std::uint32_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::stoul(text));
}

std::string output_of(const std::string& command) {
    ShellResult result;
    await([&] {
        result = run_shell(command + " 2>&1 </dev/null");
        // rabbitmqctl says so where a node that starves lets nobody in: it has done nothing.
        return result.code == 0 || result.out.find("unable to perform an operation on node") == std::string::npos;
    });
    if (result.code != 0) throw std::runtime_error(command + " failed:\n" + result.out);
    return result.out;
}

const Address& broker_address() {
    static const Address address = parse_address(variable("RETRYD_TEST_AMQP_URI"));
    return address;
}

std::string tls_broker_uri() {
    return variable("RETRYD_TEST_AMQPS_URI");
}

std::string management_url() {
    return variable("RETRYD_TEST_MANAGEMENT_URL");
}

std::string certificate(const std::string& file) {
    return variable("RETRYD_TEST_CERTIFICATES") + "/" + file;
}

std::string rabbitmqctl(const std::string& arguments) {
    return output_of(variable("RETRYD_TEST_CTL") + " " + arguments);
}

std::string erlang(const std::string& expression) {
    return erlang_on(variable("RETRYD_TEST_BROKER_DIR"), expression);
}

std::string erlang_on(const std::string& dir, const std::string& expression) {
    const std::string before = "{ok, ";
    const std::string command =
        variable("RETRYD_TEST_BROKER") + " eval " + shell_word(dir) + " " + shell_word(expression);
    std::string given;
    await([&] {
        given = run_shell(command + " 2>&1 </dev/null").out;
        return given.find("failed to connect to node") == std::string::npos;  // one that starves lets nobody in
    });
    if (!given.starts_with(before)) throw std::runtime_error(expression + " gives " + given);
    return given.substr(before.size(), given.rfind('}') - before.size());
}

void control_broker(const std::string& action) {
    output_of(variable("RETRYD_TEST_BROKER") + " " + action + " " + shell_word(variable("RETRYD_TEST_BROKER_DIR")));
}

Version version_of(const Client& client) {
    Version version;
    if (std::sscanf(client.broker_version().c_str(), "%d.%d", &version.major, &version.minor) != 2)
        throw std::runtime_error("no version from the broker: " + client.broker_version());
    return version;
}

}  // namespace retryd::test
