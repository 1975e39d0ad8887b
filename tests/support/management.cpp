#include "support/management.h"

#include <curl/curl.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "http/client.h"
#include "support/await.h"
#include "support/environment.h"

namespace retryd::test {

namespace {

using nlohmann::json;

std::size_t append(char* data, std::size_t, std::size_t count, void* text) {
    static_cast<std::string*>(text)->append(data, count);
    return count;
}

struct ApiAnswer {
    long status = 0;
    std::string body;
};

ApiAnswer ask(const std::string& method, const std::string& path, const json& document) {
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), &curl_easy_cleanup);
    const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(
        curl_slist_append(nullptr, "Content-Type: application/json"), &curl_slist_free_all);
    const std::string url = management_url() + "/api" + path;
    const std::string sent = document.is_null() ? "" : document.dump();
    ApiAnswer answer;
    curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_CUSTOMREQUEST, method.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_USERPWD, "guest:guest");
    curl_easy_setopt(curl.get(), CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
    if (!sent.empty()) curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, sent.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &append);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer.body);
    if (const CURLcode code = curl_easy_perform(curl.get()); code != CURLE_OK)
        throw std::runtime_error(method + " " + url + ": " + curl_easy_strerror(code));
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
    return answer;
}

/// Not for POST: where the broker fails, which a busy one does now and then, it is asked again.
std::string manage(const std::string& method, const std::string& path, const json& document = nullptr) {
    constexpr int most_repeats = 3;
    constexpr long failed = 500;
    ApiAnswer answer = ask(method, path, document);
    for (int repeats = 0; answer.status == failed && repeats < most_repeats; ++repeats) {
        std::this_thread::sleep_for(milliseconds(500));
        answer = ask(method, path, document);
    }
    const bool missing = method == "DELETE" && answer.status == 404;
    if (answer.status / 100 != 2 && !missing)
        throw std::runtime_error(method + " " + path + ": " + std::to_string(answer.status) + " " + answer.body);
    return answer.body;
}

std::string encoded(const std::string& text) {
    return http::percent_encoded(text);
}

std::string own_vhost() {
    return encoded(broker_address().vhost);
}

std::string path_of(const std::string& name, PolicyKind kind) {
    const std::string kinds = kind == PolicyKind::policies ? "/policies/" : "/operator-policies/";
    return kinds + own_vhost() + "/" + encoded(name);
}

}  // namespace

void add_user(const std::string& name, const std::string& password, const std::string& tags) {
    manage("PUT", "/users/" + encoded(name), {{"password", password}, {"tags", tags}});
}

void delete_user(const std::string& name) {
    manage("DELETE", "/users/" + encoded(name));
}

void set_permissions(const std::string& user, const std::string& configure, const std::string& write,
                     const std::string& read) {
    manage("PUT", "/permissions/" + own_vhost() + "/" + encoded(user),
           {{"configure", configure}, {"write", write}, {"read", read}});
}

void set_policy(const std::string& name, const std::string& pattern, const std::string& definition, PolicyKind kind,
                int priority) {
    manage("PUT", path_of(name, kind),
           {{"pattern", pattern},
            {"definition", json::parse(definition)},
            {"apply-to", "queues"},
            {"priority", priority}});
}

void clear_policy(const std::string& name, PolicyKind kind) {
    manage("DELETE", path_of(name, kind));
}

std::string policies() {
    return manage("GET", "/policies/" + own_vhost());
}

void add_vhost(const std::string& name) {
    manage("PUT", "/vhosts/" + encoded(name));
}

void delete_vhost(const std::string& name) {
    manage("DELETE", "/vhosts/" + encoded(name));
}

void declare_internal_exchange(const std::string& name) {
    manage("PUT", "/exchanges/" + own_vhost() + "/" + encoded(name),
           {{"type", "fanout"}, {"durable", true}, {"internal", true}});
}

std::vector<std::string> queue_names() {
    std::vector<std::string> names;
    for (const json& queue : json::parse(manage("GET", "/queues/" + own_vhost() + "?columns=name")))
        names.push_back(queue.at("name"));
    return names;
}

}  // namespace retryd::test
