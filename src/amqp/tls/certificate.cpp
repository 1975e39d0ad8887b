#include "amqp/tls/certificate.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "core/safe_text.h"
#include "core/text.h"

namespace retryd::amqp {
namespace {

constexpr std::size_t longest_name = 200;
constexpr std::size_t longest_host = 64;
constexpr std::size_t most_hosts = 5;
/// What RFC 2253 escapes, and UTF-8 where it can be; what cannot be shown is escaped as everywhere in retryd.
constexpr unsigned long name_flags = ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_UTF8_CONVERT;
constexpr unsigned long dn_flags =
    XN_FLAG_RFC2253 & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_ESC_MSB);

struct FreeBio {
    void operator()(BIO* bio) const noexcept { BIO_free(bio); }
};

struct FreeNames {
    void operator()(GENERAL_NAMES* names) const noexcept { GENERAL_NAMES_free(names); }
};

std::string printed(std::size_t longest, const std::function<void(BIO*)>& print) {
    const std::unique_ptr<BIO, FreeBio> bio(BIO_new(BIO_s_mem()));
    if (!bio) throw std::bad_alloc();
    print(bio.get());
    char* data = nullptr;
    const long length = BIO_get_mem_data(bio.get(), &data);
    if (length <= 0) return {};
    const std::string_view text{data, static_cast<std::size_t>(length)};
    const std::string_view shown = core::utf8_prefix(text, longest);
    return core::safe_line(shown) + (shown.size() < text.size() ? "..." : "");
}

std::string text_of(const ASN1_STRING* string) {
    return printed(longest_host, [&](BIO* bio) { ASN1_STRING_print_ex(bio, string, name_flags); });
}

std::string text_of(const X509_NAME* name) {
    return printed(longest_name, [&](BIO* bio) { X509_NAME_print_ex(bio, name, 0, dn_flags); });
}

std::string name_of(const ASN1_STRING* string) {
    const std::string name = text_of(string);
    return is_ip_address(name) ? name + " (written as a name, which no address is compared with)" : name;
}

std::string address_of(const ASN1_OCTET_STRING* bytes) {
    const int length = ASN1_STRING_length(bytes);
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (length != 4 && length != 16) return "no address";
    inet_ntop(length == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(bytes), text.data(), text.size());
    return text.data();
}

const ASN1_STRING* common_name(const X509* certificate) {
    const X509_NAME* const subject = X509_get_subject_name(certificate);
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    return at < 0 ? nullptr : X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
}

struct Hosts {
    std::vector<std::string> shown;
    int more = 0;
    bool any_dns = false;

    void add(std::string host) {
        shown.size() < most_hosts ? shown.push_back(std::move(host)) : static_cast<void>(++more);
    }
};

void read_alternative_names(const X509* certificate, Hosts& hosts) {
    const std::unique_ptr<GENERAL_NAMES, FreeNames> names(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
        if (name->type == GEN_DNS) {
            hosts.any_dns = true;
            hosts.add(name_of(name->d.dNSName));
        } else if (name->type == GEN_IPADD) {
            hosts.add(address_of(name->d.iPAddress));
        }
    }
}

}  // namespace

bool is_ip_address(const std::string& text) {
    std::array<unsigned char, sizeof(in6_addr)> ignored{};
    return inet_pton(AF_INET, text.c_str(), ignored.data()) == 1 ||
           inet_pton(AF_INET6, text.c_str(), ignored.data()) == 1;
}

std::string subject_of(const X509* certificate) {
    return text_of(X509_get_subject_name(certificate));
}

std::string issuer_of(const X509* certificate) {
    return text_of(X509_get_issuer_name(certificate));
}

std::string common_name_of(const X509* certificate) {
    const ASN1_STRING* const name = common_name(certificate);
    return name == nullptr ? std::string{} : text_of(name);
}

std::string hosts_of(const X509* certificate) {
    Hosts hosts;
    read_alternative_names(certificate, hosts);
    const ASN1_STRING* const common = hosts.any_dns ? nullptr : common_name(certificate);
    if (common != nullptr) hosts.add(name_of(common));
    std::string text;
    for (std::size_t i = 0; i < hosts.shown.size(); ++i) {
        const bool last = i + 1 == hosts.shown.size() && hosts.more == 0;
        text += (i == 0 ? "" : last ? " and " : ", ") + hosts.shown[i];
    }
    return hosts.more == 0 ? text : text + " and " + std::to_string(hosts.more) + " more";
}

std::string time_of(const ASN1_TIME* time) {
    std::tm utc{};
    std::array<char, 32> text{};
    if (ASN1_TIME_to_tm(time, &utc) != 1) return "an unreadable date";
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text.data();
}

}  // namespace retryd::amqp
