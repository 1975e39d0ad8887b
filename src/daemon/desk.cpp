#include "daemon/desk.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/safe_text.h"
#include "system/clock.h"
#include "system/random.h"
#include "telemetry/safe_json.h"

namespace retryd::daemon {

namespace {

using config::LogLevel;
using DeskJson = nlohmann::ordered_json;
using http::Reply;
using http::WebRequest;

constexpr std::string_view root = "/api/";
constexpr const char* session_path = "/api/session";
constexpr const char* runs_path = "/api/runs";
constexpr std::string_view one_run = "/api/runs/";

/// The path of each action and its name on the command line. The last two have no command: only the daemon can hold a
/// work queue.
constexpr std::pair<std::string_view, std::string_view> desk_paths[]{
    {"/api/parked/groups", "parked groups"}, {"/api/parked/messages", "parked messages"},
    {"/api/parked/message", "parked show"},  {"/api/parked/replay", "parked replay"},
    {"/api/parked/drop", "parked drop"},     {"/api/parked/edit", "parked edit"},
    {"/api/parked/undo", "parked undo"},     {"/api/waiting/list", "waiting list"},
    {"/api/waiting/send", "waiting send"},   {"/api/waiting/park", "waiting park"},
    {"/api/queue/hold", "queue hold"},       {"/api/queue/release", "queue release"}};

/// Empty if the path has no action.
std::string_view action_of(std::string_view path) {
    for (const auto& [at, words] : desk_paths) {
        if (at == path) return words;
    }
    return {};
}

Reply json_reply(int status, DeskJson json) {
    return {status, "application/json; charset=utf-8", telemetry::to_safe_json(std::move(json)) + "\n"};
}

Reply refusal_reply(const DeskRefusal& refusal) {
    return json_reply(refusal.status, {{"error", refusal.text}, {"code", refusal.code}});
}

/// Answers that the HTTP server itself gives.
Reply fault_reply(int status, const std::string& text) {
    const char* code = status == 413 ? "too_large" : status == 500 ? "internal" : "bad_request";
    return refusal_reply({status, code, text});
}

Reply wrong_method(const std::string& allowed) {
    Reply reply = refusal_reply({405, "method", "only " + allowed});
    reply.headers.emplace_back("Allow", allowed);
    return reply;
}

/// The methods that are allowed there; empty if the path does not exist.
std::string allowed_at(std::string_view path) {
    if (path == session_path) return "GET, POST, DELETE";
    if (path == runs_path) return "GET";
    if (path.starts_with(one_run) && path.size() > one_run.size()) return "GET, DELETE";
    return action_of(path).empty() ? "" : "POST";
}

bool is_allowed(const std::string& allowed, const std::string& method) {
    return (", " + allowed + ",").find(", " + method + ",") != std::string::npos;
}

bool changing(const WebRequest& request) {
    return request.method != "GET";
}

bool is_sign_in(const WebRequest& request) {
    return request.path == session_path && request.method == "POST";
}

DeskJson json_of(const DeskSession& session, core::SteadyTime now) {
    const core::Milliseconds left = session.ends - now;
    return {{"signed_in", true},
            {"session", session.name},
            {"csrf", session.csrf},
            {"expires_at", utc_of(system::wall_now() + left)},
            {"expires_in", std::chrono::duration_cast<std::chrono::seconds>(left).count()}};
}

const DeskRefusal not_signed_in{401, "not_signed_in", "sign in first"};

}  // namespace

struct Desk::Shared {
    DeskActions actions;
    telemetry::Log& log;
    Target target;
    std::shared_ptr<DeskRuns> runs;

    std::mutex mutex;  // guards all that follows: the server's thread reads it, the daemon's thread configures it
    std::optional<config::Http> http = std::nullopt;
    DeskSessions sessions{system::random_hex};
    GuessLimit guesses = {};

    bool there() {
        const std::lock_guard lock(mutex);
        return http && http->admin;
    }

    std::string cookie_name() const { return "retryd_desk_" + std::to_string(http ? http->port : 0); }

    /// Call with the mutex held. Null if nobody is signed in.
    const DeskSession* session_of(const WebRequest& request, core::SteadyTime now) const {
        return sessions.find(cookie_value(request, cookie_name()), now);
    }

    std::string set_cookie(const WebRequest& request, const std::string& value, core::Milliseconds lasts) const {
        return cookie_name() + "=" + value + "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" +
               std::to_string(std::chrono::duration_cast<std::chrono::seconds>(lasts).count()) +
               (came_by_tls(request) ? "; Secure" : "");
    }

    std::optional<Reply> refuse(const WebRequest& request);
    Reply handle(const WebRequest& request);
    Reply sign_in(const WebRequest& request);
    Reply wrong_password(const WebRequest& request, core::SteadyTime now);
    Reply sign_out(const WebRequest& request);
    Reply show_session(const WebRequest& request);
    Reply answer_run(const WebRequest& request) const;
    Reply begin(const WebRequest& request, const DeskPerson& who, const std::string& audit);
};

std::optional<Reply> Desk::Shared::refuse(const WebRequest& request) {
    const std::lock_guard lock(mutex);
    if (!http || !http->admin) return refusal_reply({404, "not_found", "nothing is here"});
    if (const auto foreign = refuse_foreign(request, http->host)) return refusal_reply(*foreign);
    const std::string allowed = allowed_at(request.path);
    if (allowed.empty()) return refusal_reply({404, "not_found", "nothing is here"});
    if (!is_allowed(allowed, request.method)) return wrong_method(allowed);
    if (changing(request)) {
        if (const auto form = refuse_form(request)) return refusal_reply(*form);
    }
    if (request.path == session_path && request.method != "DELETE") return std::nullopt;
    const DeskSession* const session = session_of(request, system::steady_now());
    if (session == nullptr) return refusal_reply(not_signed_in);
    if (changing(request) && !same_secret(header_value(request, "x-retryd-csrf"), session->csrf))
        return refusal_reply({403, "csrf",
                              "the header X-Retryd-Csrf is not the token of this session, which GET " +
                                  std::string{session_path} + " gives"});
    return std::nullopt;
}

Reply Desk::Shared::handle(const WebRequest& request) {
    if (request.path == session_path) {
        if (request.method == "GET") return show_session(request);
        return is_sign_in(request) ? sign_in(request) : sign_out(request);
    }
    DeskPerson who{"", request.client, std::string{header_value(request, "x-forwarded-for")}};
    std::string audit;
    {
        const std::lock_guard lock(mutex);
        const DeskSession* const session = session_of(request, system::steady_now());
        if (session == nullptr || !http) return refusal_reply(not_signed_in);  // the session has ended meanwhile
        who.session = session->name;
        audit = http->audit;
    }
    if (request.path == runs_path) return json_reply(200, runs->list());
    return request.path.starts_with(one_run) ? answer_run(request) : begin(request, who, audit);
}

Reply Desk::Shared::show_session(const WebRequest& request) {
    const std::lock_guard lock(mutex);
    const core::SteadyTime now = system::steady_now();
    const DeskSession* const session = session_of(request, now);
    return json_reply(200, session == nullptr ? DeskJson{{"signed_in", false}} : json_of(*session, now));
}

/// While no attempt is allowed, the password is not compared at all.
Reply Desk::Shared::sign_in(const WebRequest& request) {
    const DeskJson body = DeskJson::parse(request.body, nullptr, false);
    if (!body.is_object() || body.size() != 1 || !body.contains("password") || !body["password"].is_string())
        return refusal_reply({400, "bad_request", "expected {\"password\": \"…\"}"});
    const std::lock_guard lock(mutex);
    if (!http || !http->admin) return refusal_reply(not_signed_in);
    const core::SteadyTime now = system::steady_now();
    if (guesses.wait(now) > core::Milliseconds::zero() || !sessions.right_password(body["password"].get<std::string>()))
        return wrong_password(request, now);
    guesses.right();
    const core::Milliseconds lasts = http->admin->session;
    if (const DeskSession* const former = session_of(request, now)) sessions.end(std::string{former->id});
    const DeskSession& session = sessions.begin(lasts, now);
    log.write(LogLevel::info, "desk_signed_in", "somebody has signed in over HTTP (session " + session.name + ")",
              {{"session", session.name}, {"address", request.client}});
    Reply reply = json_reply(200, json_of(session, now));
    reply.headers.emplace_back("Set-Cookie", set_cookie(request, session.id, lasts));
    return reply;
}

/// Call with the mutex held.
Reply Desk::Shared::wrong_password(const WebRequest& request, core::SteadyTime now) {
    const core::Milliseconds wait = guesses.wait(now);
    if (wait > core::Milliseconds::zero()) {
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
        Reply reply = json_reply(429, {{"error", "too many wrong passwords; try again in " + std::to_string(seconds) +
                                                     " s. Who is signed in stays so"},
                                       {"code", "wait"},
                                       {"retry_after", seconds}});
        reply.headers.emplace_back("Retry-After", std::to_string(seconds));
        return reply;
    }
    guesses.wrong(now);
    log.write(LogLevel::warning, "desk_wrong_password", "somebody has tried to sign in over HTTP with a wrong password",
              {{"address", request.client}});
    return refusal_reply({401, "wrong_password", "this is not the password"});
}

Reply Desk::Shared::sign_out(const WebRequest& request) {
    const std::lock_guard lock(mutex);
    if (const DeskSession* const session = session_of(request, system::steady_now())) {
        log.write(LogLevel::info, "desk_signed_out", "session " + session->name + " has signed out",
                  {{"session", session->name}, {"address", request.client}});
        sessions.end(std::string{session->id});
    }
    Reply reply = json_reply(200, {{"signed_in", false}});
    reply.headers.emplace_back("Set-Cookie", set_cookie(request, "", core::Milliseconds::zero()));
    return reply;
}

Reply Desk::Shared::answer_run(const WebRequest& request) const {
    const std::string id = request.path.substr(one_run.size());
    const bool stops = request.method == "DELETE";
    if (stops) runs->stop(id);
    auto run = runs->show(id);
    if (!run)
        return refusal_reply(
            {404, "not_found", "there is no such run; the last " + std::to_string(DeskRuns::most_kept) + " are kept"});
    const bool still = stops && (*run)["ended_at"].is_null();
    return json_reply(still ? 202 : 200, std::move(*run));
}

Reply Desk::Shared::begin(const WebRequest& request, const DeskPerson& who, const std::string& audit) {
    admin::DeskTask task = actions.read(std::string{action_of(request.path)}, request.body);
    if (!task.fault.empty()) return refusal_reply({400, task.fault_code, task.fault});
    const auto broker = target();
    if (!broker) return refusal_reply({503, "not_connected", "retryd has no broker at the moment; /readyz says why"});
    const auto begun = runs->begin(std::move(task), *broker, who, audit);
    if (const auto* refusal = std::get_if<DeskRunRefusal>(&begun)) {
        DeskJson json{{"error", refusal->text}, {"code", refusal->code}};
        if (!refusal->run.empty()) json["run"] = refusal->run;
        return json_reply(refusal->status, std::move(json));
    }
    auto run = runs->show(std::get<std::string>(begun));
    return json_reply(202, run ? std::move(*run) : DeskJson{{"id", std::get<std::string>(begun)}});
}

Desk::Desk(DeskActions actions_of_commands, telemetry::Log& log, Target target, DeskRuns::Hold hold)
    : runs_(std::make_shared<DeskRuns>(actions_of_commands, log, std::move(hold))) {
    shared_.reset(new Shared{std::move(actions_of_commands), log, std::move(target), runs_, {}});
}

void Desk::configure(const std::optional<config::Http>& http) {
    bool over = false;
    {
        const std::lock_guard lock(shared_->mutex);
        over = shared_->http && shared_->http->admin && !(http && http->admin);
        shared_->http = http;
        if (http && http->admin) {
            shared_->sessions.use(http->admin->password);
        } else {
            shared_->sessions.end_all();
        }
    }
    if (over) runs_->stop_all();
}

bool Desk::there() const {
    return shared_->there();
}

http::WebApi Desk::api() {
    http::WebApi api;
    api.prefix = root;
    api.there = [shared = shared_] { return shared->there(); };
    api.refuse = [shared = shared_](const WebRequest& request) { return shared->refuse(request); };
    api.limit = [](const WebRequest& request) -> std::size_t {
        constexpr std::size_t kib = 1024;
        if (is_sign_in(request)) return 4 * kib;
        return request.path == "/api/parked/edit" ? 2 * kib * kib : 64 * kib;
    };
    api.handle = [shared = shared_](const WebRequest& request) { return shared->handle(request); };
    api.fault = fault_reply;
    return api;
}

}  // namespace retryd::daemon
