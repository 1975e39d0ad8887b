#include "http/client.h"

#include <curl/curl.h>

#include <array>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

namespace retryd::http {

namespace {

struct Cleanup {
    void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
using Handle = std::unique_ptr<CURL, Cleanup>;

struct FreeList {
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

Handle new_handle() {
    static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    Handle handle(ready == CURLE_OK ? curl_easy_init() : nullptr);
    if (!handle) throw std::bad_alloc();
    return handle;
}

template <typename T>
void set(const Handle& handle, CURLoption option, T value) {
    const CURLcode code = curl_easy_setopt(handle.get(), option, value);
    if (code != CURLE_OK) throw Error(curl_easy_strerror(code));
}

struct Body {
    std::string text;
    std::size_t most = 0;
    bool too_large = false;
};

/// libcurl's write callback: returning anything but the given size aborts the transfer.
std::size_t append(const char* data, std::size_t one, std::size_t count, void* target) {
    auto& body = *static_cast<Body*>(target);
    const std::size_t size = one * count;
    body.too_large = size > body.most - body.text.size();
    if (body.too_large) return 0;
    body.text.append(data, size);
    return size;
}

void set_tls(const Handle& handle, const config::Tls& tls) {
    if (!tls.ca_file.empty()) set(handle, CURLOPT_CAINFO, tls.ca_file.c_str());
    set(handle, CURLOPT_SSL_VERIFYPEER, tls.verify_peer ? 1L : 0L);
    set(handle, CURLOPT_SSL_VERIFYHOST, tls.verify_peer && tls.verify_hostname ? 2L : 0L);
    if (tls.cert_file.empty()) return;
    set(handle, CURLOPT_SSLCERT, tls.cert_file.c_str());
    set(handle, CURLOPT_SSLKEY, tls.key_file.c_str());
    set(handle, CURLOPT_KEYPASSWD, "");  // else OpenSSL asks for a passphrase on the terminal
}

void set_request(const Handle& handle, const Request& request) {
    set(handle, CURLOPT_URL, request.url.c_str());
    set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    set(handle, CURLOPT_PATH_AS_IS, 1L);
    set(handle, CURLOPT_FOLLOWLOCATION, 0L);
    set(handle, CURLOPT_PROXY, "");  // not even one from the environment: it would see the password
    set(handle, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    set(handle, CURLOPT_USERNAME, request.username.c_str());
    set(handle, CURLOPT_PASSWORD, request.password.c_str());
    set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
    set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
    set(handle, CURLOPT_NOSIGNAL, 1L);
    set_tls(handle, request.tls);
}

/// libcurl's error text. For a certificate it says what is wrong, but not which authorities are trusted.
std::string failure(CURLcode code, const char* detail) {
    std::string text = *detail != '\0' ? detail : curl_easy_strerror(code);
    if (code == CURLE_PEER_FAILED_VERIFICATION) {
        text += "; trusted is what broker.tls.ca_file holds, without it the authorities of this system";
    }
    return text;
}

std::optional<core::WallTime> date_in(const Handle& handle) {
    curl_header* header = nullptr;
    if (curl_easy_header(handle.get(), "date", 0, CURLH_HEADER, -1, &header) != CURLHE_OK) return std::nullopt;
    const auto seconds = curl_getdate(header->value, nullptr);
    return seconds < 0 ? std::nullopt : std::optional{core::WallTime{std::chrono::seconds{seconds}}};
}

Response perform(const Handle& handle, std::size_t largest_body) {
    Body body{{}, largest_body};
    std::array<char, CURL_ERROR_SIZE> detail{};
    set(handle, CURLOPT_ERRORBUFFER, detail.data());
    set(handle, CURLOPT_WRITEFUNCTION, append);
    set(handle, CURLOPT_WRITEDATA, &body);
    const CURLcode code = curl_easy_perform(handle.get());
    if (body.too_large) throw Error("the answer is larger than " + std::to_string(body.most) + " bytes");
    if (code != CURLE_OK) throw Error(failure(code, detail.data()));
    long status = 0;
    curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
    return {static_cast<int>(status), std::move(body.text), date_in(handle)};
}

}  // namespace

Response get(const Request& request) {
    const Handle handle = new_handle();
    set_request(handle, request);
    return perform(handle, request.largest_body);
}

namespace {

Response send(const Request& request, const char* method, const std::string& json) {
    const Handle handle = new_handle();
    set_request(handle, request);
    const HeaderList headers(curl_slist_append(nullptr, "Content-Type: application/json"));
    if (!headers) throw std::bad_alloc();
    set(handle, CURLOPT_HTTPHEADER, headers.get());
    set(handle, CURLOPT_POSTFIELDS, json.c_str());
    set(handle, CURLOPT_POSTFIELDSIZE, static_cast<long>(json.size()));
    set(handle, CURLOPT_CUSTOMREQUEST, method);
    return perform(handle, request.largest_body);
}

}  // namespace

Response put(const Request& request, const std::string& json) {
    return send(request, "PUT", json);
}

Response post(const Request& request, const std::string& json) {
    return send(request, "POST", json);
}

std::string percent_encoded(const std::string& text) {
    constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~";
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (plain.find(c) != std::string_view::npos) {
            encoded += c;
        } else {
            encoded.append(1, '%').append(1, digits[byte >> 4U]).append(1, digits[byte & 0xfU]);
        }
    }
    return encoded;
}

}  // namespace retryd::http
