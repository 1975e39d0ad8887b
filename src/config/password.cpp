#include "config/password.h"

namespace retryd::config {

void exclude(const Place& one, const Place& other, Problems& problems) {
    add(problems, one,
        "is given besides " + other.path + " on line " + std::to_string(other.at.line) + "; expected one of the two");
}

std::optional<std::string> read_named_file(const Given<std::string>& file, const Surroundings& surroundings,
                                           Problems& problems) {
    std::string error;
    auto contents = surroundings.read_file(file.value, error);
    if (!contents) {
        add(problems, file.place,
            "the file " + shown(file) + " cannot be read (" + error + "); expected one that retryd may read");
    }
    return contents;
}

std::optional<std::string> read_password(const Given<std::string>& password, const Given<std::string>& file,
                                         const Surroundings& surroundings, Problems& problems) {
    if (password.given && file.given) exclude(file.place, password.place, problems);
    if (password.given) return password.value;
    if (!file.given) return std::nullopt;
    auto contents = read_named_file(file, surroundings, problems);
    if (!contents) return "";
    if (contents->ends_with('\n')) contents->pop_back();
    if (contents->ends_with('\r')) contents->pop_back();
    if (contents->empty()) {
        add(problems, file.place, "the file " + shown(file) + " is empty; expected the password in it");
    }
    return contents;
}

}  // namespace retryd::config
