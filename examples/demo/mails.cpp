#include "mails.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace retryd::demo {
namespace {

constexpr std::string_view mark = "retryd-demo";  // the `type` of every message of the demo

constexpr std::array mails{
    Mail{"mail 1", "Welcome, Ada", "email.welcome", 0, ""},
    Mail{"mail 2", "Receipt for Ben", "email.receipt", 1, "the mail server is busy"},
    Mail{"mail 3", "Invoice for Cleo", "email.invoice", 0, ""},
    Mail{"mail 4", "Reminder for Dan", "email.reminder", 2, "the mail server is busy"},
    Mail{"mail 5", "Contract for Eve", "email.contract", until_mended, "bug: no template 'contract'"},
    Mail{"mail 6", "Password for Finn", "email.password", 3, "greylisted, come back later"},
    Mail{"mail 7", "Newsletter for Grace", "email.newsletter", 0, ""},
    Mail{"mail 8", "Welcome, Hugo", "email.welcome", 1, "connection reset"},
};

/// Differs from run to run.
const std::string& this_run() {
    static const std::string run =
        std::to_string(getpid()) + '-' + std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
    return run;
}

bool of_producer(const core::Field& field) {
    return !field.name.starts_with("x-") && !field.name.starts_with("retryd-");
}

}  // namespace

std::span<const Mail> all_mails() {
    return mails;
}

MailMessage::MailMessage(const Mail& mail)
    : headers_{core::Field{"customer", core::Value::of_longstr(mail.subject.substr(mail.subject.rfind(' ') + 1))}} {
    core::Properties& properties = message_.properties;
    properties.content_type = "text/plain";
    properties.headers = core::Table{headers_.data(), headers_.size()};
    properties.delivery_mode = std::uint8_t{2};
    properties.correlation_id = this_run();
    properties.message_id = mail.id;
    properties.type = mark;
    message_.body = mail.subject;
}

Origin origin_of(const core::Message& message) {
    if (message.properties.type != mark) return Origin::elsewhere;
    return message.properties.correlation_id == this_run() ? Origin::this_run : Origin::earlier_run;
}

const Mail& mail_of(const core::Message& message) {
    for (const Mail& mail : mails) {
        if (message.properties.message_id == mail.id) return mail;
    }
    throw std::runtime_error("a message came that nobody sent");
}

std::vector<core::Field> producers_headers(const core::Message& message) {
    const core::Table all = message.properties.header_table();
    std::vector<core::Field> kept;
    std::copy_if(all.begin(), all.end(), std::back_inserter(kept), of_producer);
    return kept;
}

bool unchanged(const Mail& mail, const core::Message& message) {
    const MailMessage original(mail);
    const core::Properties& before = original.get().properties;
    const core::Properties& after = message.properties;
    const std::vector<core::Field> headers = producers_headers(message);
    return message.body == original.get().body && after.content_type == before.content_type &&
           after.delivery_mode == before.delivery_mode && after.correlation_id == before.correlation_id &&
           after.message_id == before.message_id && after.type == before.type &&
           core::equal(core::Table{headers.data(), headers.size()}, before.header_table());
}

}  // namespace retryd::demo
