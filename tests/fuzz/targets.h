// The fuzz targets: whatever reads data from outside, each as a function of these bytes. It returns if all promises
// hold and throws Broken if one does not.
#pragma once

#include <array>
#include <string_view>

namespace retryd::fuzz {

/// A configuration file.
void configuration(std::string_view input);
/// A configuration file that has a password in its first lines, written in one of many ways.
void secrets(std::string_view input);
/// The payload of a content header: properties and header table as they come over the wire.
void header_tables(std::string_view input);
/// An x-death and headers of ours, well-formed but forged, and several rounds of coming back and dying again.
void deaths(std::string_view input);
/// Names, globs, durations, sizes, versions.
void names(std::string_view input);
/// Any bytes, as they are shown.
void safe_text(std::string_view input);
/// URIs of brokers and of the management API.
void uris(std::string_view input);
/// What a broker says when it refuses something.
void refusals(std::string_view input);
/// A message by AMQP 1.0, which a stranger has written and the broker may have altered.
void foreign_messages(std::string_view input);
/// A message that a framework, or whoever else may write to a source, has put away.
void failures(std::string_view input);
/// What the management API answers.
void management(std::string_view input);

struct Target {
    std::string_view name;
    void (*run)(std::string_view input);
};

inline constexpr std::array targets{
    Target{"configuration", configuration},
    Target{"secrets", secrets},
    Target{"header_tables", header_tables},
    Target{"deaths", deaths},
    Target{"names", names},
    Target{"safe_text", safe_text},
    Target{"uris", uris},
    Target{"refusals", refusals},
    Target{"foreign_messages", foreign_messages},
    Target{"failures", failures},
    Target{"management", management},
};

}  // namespace retryd::fuzz
