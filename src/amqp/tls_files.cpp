#include "amqp/tls_files.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509err.h>

#include <cstring>
#include <string>

#include "amqp/error.h"

namespace retryd::amqp {
namespace {

[[noreturn]] void unusable(const std::string& what) {
    throw Error(Error::Kind::insecure, "cannot use " + what);
}

bool last_error_is(int library, int reason) {
    const unsigned long last = ERR_peek_last_error();
    return ERR_GET_LIB(last) == library && ERR_GET_REASON(last) == reason;
}

/// OpenSSL tells what the system or its decoder said; never what stands in the file.
std::string why_unreadable(const std::string& expected) {
    const unsigned long first = ERR_peek_error();
    if (ERR_SYSTEM_ERROR(first)) return std::strerror(ERR_GET_REASON(first));
    return "it holds no " + expected + " in PEM (-----BEGIN ...)";
}

/// Instead of asking for a passphrase on the terminal.
int no_passphrase(char*, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
}

void read_key(SSL_CTX* context, const std::string& file) {
    bool encrypted = false;
    SSL_CTX_set_default_passwd_cb(context, &no_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(context, &encrypted);
    ERR_clear_error();
    const int read = SSL_CTX_use_PrivateKey_file(context, file.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
    if (read == 1) return;
    const std::string key = "broker.tls.key_file " + file;
    if (encrypted) {
        unusable(key +
                 ": the key is encrypted, and nobody is there to type its passphrase; store it decrypted "
                 "(openssl pkey -in FILE -out NEW), readable by retryd alone");
    }
    if (last_error_is(ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH) ||
        last_error_is(ERR_LIB_X509, X509_R_KEY_TYPE_MISMATCH)) {
        unusable(key +
                 ": it is not the key of the certificate in broker.tls.cert_file; name the two that were made "
                 "together");
    }
    unusable(key + ": " + why_unreadable("private key"));
}

}  // namespace

void trust(SSL_CTX* context, const config::Tls& tls) {
    if (!tls.verify_peer) return;
    ERR_clear_error();
    if (tls.ca_file.empty()) {
        if (SSL_CTX_set_default_verify_paths(context) == 1) return;
        unusable("the system's authorities; name a file of your own with broker.tls.ca_file");
    }
    if (SSL_CTX_load_verify_file(context, tls.ca_file.c_str()) == 1) return;
    unusable("broker.tls.ca_file " + tls.ca_file + ": " + why_unreadable("certificate"));
}

void identify(SSL_CTX* context, const config::Tls& tls) {
    if (tls.cert_file.empty()) return;
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, tls.cert_file.c_str()) != 1) {
        unusable("broker.tls.cert_file " + tls.cert_file + ": " + why_unreadable("certificate"));
    }
    read_key(context, tls.key_file);
}

}  // namespace retryd::amqp
