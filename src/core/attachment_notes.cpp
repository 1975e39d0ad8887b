#include "core/attachment_notes.h"

namespace retryd::core::note {
namespace {

std::string in_quotes(const std::string& text) {
    return '\'' + text + '\'';
}

}  // namespace

std::string for_later(std::int64_t priority, std::int64_t below) {
    const std::string attach_again =
        ", and a quorum queue dead-letters at-most-once by this one: attach again when it is there";
    if (priority <= below) {
        return "also for queues made later. One of them that another policy applies to keeps that one" + attach_again;
    }
    return "also for queues made later. One of them that a policy with a priority of " + std::to_string(priority) +
           " or less applies to may lose what that one says: give this one the priority " + std::to_string(below) +
           " and attach again. One that a higher one applies to keeps that one" + attach_again;
}

std::string leaves(const std::string& queue) {
    return "no longer applies to queue " + in_quotes(queue) + ", which no entry matches";
}

std::string taken_away(const std::string& exchange) {
    std::string note = "dead letters of these queues go to exchange ";
    note.append(exchange).append(" now, and no longer will. If its readers are to have what retryd gives up on, ");
    return note.append("say so in the entries: parked: {exchange: ").append(exchange).append("}");
}

std::string changed(bool lost_to_streams) {
    std::string note = "applies to every queue that its pattern matches, also to later ones";
    if (lost_to_streams) note += "; but no longer to a stream: those take no policy that dead-letters";
    return note;
}

std::string copied(const std::string& from, const std::string& why) {
    return "a copy of policy " + in_quotes(from) + ", " + why +
           ": a later change of that one does not reach these queues, unless it is made here as well";
}

std::string applies_to_others(std::size_t others) {
    return "which applies to " + std::to_string(others) + (others == 1 ? " other queue" : " other queues") + ", too";
}

std::string stands_no_higher(const std::string& than) {
    return "which stands no higher than " + in_quotes(than);
}

std::string would_narrow() {
    return "which no classic queue made later would take with what is added";
}

}  // namespace retryd::core::note
