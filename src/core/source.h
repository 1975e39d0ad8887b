// Sources: queues into which a framework, or an application's own consumer, puts what has failed, instead of rejecting
// it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace retryd::core {

/// How the messages of a source are written. Each dialect is in src/core/dialects*.cpp, with the sources that it was
/// read from.
enum class Dialect {
    masstransit,
    nservicebus,
    rebus,
    easynetq,
    spring,
    symfony,
    celery,
    dramatiq,
    generic,  // as the source's own keys say; without them, as the broker dead-letters
};
std::string_view to_string(Dialect dialect);

/// Where the name of the work queue is, where the dialect does not know it or the operator knows better.
struct WorkQueueOf {
    enum class Place {
        dialect,  // where the dialect has it
        header,   // in the header `text`
        suffix,   // it is the source's name without `text` at its end
        name,     // it is `text`
    };
    Place place = Place::dialect;
    std::string text = {};
    bool operator==(const WorkQueueOf&) const = default;
};

/// In words, for a report.
std::string describe(const WorkQueueOf& work_queue);

/// One item of `sources:`.
struct Source {
    std::string queue;  // its name, or a glob
    Dialect dialect = Dialect::generic;
    WorkQueueOf work_queue = {};
    std::string reason_header = {};  // says why it failed; empty: where the dialect has it
    bool operator==(const Source&) const = default;
};

}  // namespace retryd::core
