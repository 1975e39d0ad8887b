#include "support/certificates.h"

#include <filesystem>
#include <fstream>

#include "support/environment.h"

namespace retryd::test {

namespace {

const std::string new_key = "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -utf8 ";

}  // namespace

Certificates::Certificates() = default;

Certificates::~Certificates() {
    std::error_code ignored;
    if (shown_) std::filesystem::rename(certificate("server.before"), certificate("server.pem"), ignored);
}

void Certificates::run(const std::string& command) const {
    output_of("cd '" + folder_.path() + "' && { " + command + "; }");
}

void Certificates::make(const std::string& name, const CertificateSpec& spec) {
    std::ofstream(file(name + ".ext")) << spec.extensions << '\n';
    const std::string authority = spec.signed_by.empty() ? certificate("ca") : spec.signed_by;
    run(new_key + "-subj '" + spec.subject + "' -keyout " + name + ".key -out " + name + ".csr && " +
        "openssl x509 -req -in " + name + ".csr -CA '" + authority + ".pem' -CAkey '" + authority +
        ".key' -set_serial 0x$(openssl rand -hex 8) -days " + std::to_string(spec.days) + " -extfile " + name +
        ".ext -out " + name + ".pem");
}

void Certificates::make_self_signed(const std::string& name, const std::string& subject,
                                    const std::string& extensions) {
    run(new_key + "-x509 -days 2 -subj '" + subject + "' -addext '" + extensions + "' -keyout " + name + ".key -out " +
        name + ".pem");
}

void Certificates::show(const std::string& name, const std::string& others) {
    if (!shown_) std::filesystem::copy_file(certificate("server.pem"), certificate("server.before"));
    shown_ = true;
    const std::string to = "'" + certificate("server.new") + "'";
    run("cat " + name + ".pem " + others + ' ' + name + ".key >" + to + " && chmod a+r " + to);
    std::filesystem::rename(certificate("server.new"), certificate("server.pem"));
}

}  // namespace retryd::test
