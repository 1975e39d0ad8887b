// Keys and certificates made by openssl(1), and the certificate that the broker presents.
#pragma once

#include <string>

#include "support/folder.h"

namespace retryd::test {

struct CertificateSpec {
    std::string subject = "/CN=localhost";
    std::string extensions = "subjectAltName=DNS:localhost,IP:127.0.0.1";  // lines of openssl's x509v3_config
    std::string signed_by = {};  // a name that was given to make(); empty: the authority that the broker trusts
    int days = 2;                // valid from now on; negative: it expired that many days ago
};

/// A temporary folder.
class Certificates {
  public:
    Certificates();
    ~Certificates();
    Certificates(const Certificates&) = delete;
    Certificates& operator=(const Certificates&) = delete;

    /// NAME.pem and NAME.key. Throws when openssl makes none.
    void make(const std::string& name, const CertificateSpec& spec);
    /// The same, signed by itself; of an authority with `basicConstraints=critical,CA:TRUE`.
    void make_self_signed(const std::string& name, const std::string& subject, const std::string& extensions);
    /// Any command, in this folder.
    void run(const std::string& command) const;

    std::string file(const std::string& name) const { return folder_.file(name); }

    /// From the next connection on the broker presents NAME.pem, with the certificates that `others` names as its
    /// chain. The destructor restores the former certificate.
    void show(const std::string& name, const std::string& others = "");

  private:
    TemporaryFolder folder_;
    bool shown_ = false;
};

}  // namespace retryd::test
