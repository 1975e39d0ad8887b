#include <algorithm>
#include <array>
#include <cctype>

#include "layering/rules.h"

namespace retryd::layering {
namespace {

/// Of the standard library: what reads, writes, waits, or asks the machine.
constexpr std::array impure_headers{
    "iostream",   "istream", "ostream",      "fstream",    "sstream", "iomanip", "syncstream", "streambuf",
    "spanstream", "print",   "cstdio",       "cwchar",     "random",  "ctime",   "csignal",    "filesystem",
    "thread",     "future",  "mutex",        "semaphore",  "barrier", "latch",   "cstdlib",    "condition_variable",
    "locale",     "clocale", "shared_mutex", "stop_token", "csetjmp", "cerrno",
};

/// Functions that do the same; as calls, since `now` and `time` are good names for arguments.
constexpr std::array impure_calls{
    "now",   "time",   "clock",     "localtime",   "gmtime", "clock_gettime", "gettimeofday", "rand",
    "srand", "random", "drand48",   "getenv",      "system", "printf",        "fprintf",      "puts",
    "fputs", "fopen",  "sleep_for", "sleep_until", "sleep",  "usleep",        "nanosleep",    "syslog",
};
constexpr std::array impure_names{"random_device", "mt19937", "mt19937_64", "cout", "cerr", "clog", "cin"};

bool is_pure(const std::string& folder) {
    return folder == "core" || folder == "relay" || folder == "admin";
}

/// Only the standard library's own headers have neither a dot nor a slash.
bool may_include(const std::string& header) {
    const std::string folder = folder_of(header);
    if (is_pure(folder)) return true;
    if (header == "pcre2.h") return true;  // computes, and has its home in admin
    if (header.find_first_of("./") != std::string::npos) return false;
    return std::find(impure_headers.begin(), impure_headers.end(), header) == impure_headers.end();
}

/// The line of the first use of a name as a whole word, as a call if asked for; 0 where there is none.
int line_of(const std::string& code, std::string_view name, bool called) {
    for (std::size_t at = code.find(name); at != std::string::npos; at = code.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        if ((at > 0 && is_word(code[at - 1])) || (end < code.size() && is_word(code[end]))) continue;
        const std::size_t next = code.find_first_not_of(" \n", end);
        if (called && (next == std::string::npos || code[next] != '(')) continue;
        return 1 + static_cast<int>(std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    }
    return 0;
}

}  // namespace

Violations impure(const Sources& sources) {
    Violations found;
    for (const auto& [path, source] : sources) {
        if (!is_pure(folder_of(path))) continue;
        const auto add = [&found, &where = path](int line, const std::string& what) {
            if (line > 0) found.push_back(where + ':' + std::to_string(line) + ": " + what + " is not pure");
        };
        for (const Include& include : source.includes) {
            if (!may_include(include.name)) add(include.line, include.name);
        }
        for (const char* call : impure_calls)
            add(line_of(source.code, call, true), std::string{call} + "()");
        for (const char* name : impure_names)
            add(line_of(source.code, name, false), name);
    }
    return found;
}

}  // namespace retryd::layering
