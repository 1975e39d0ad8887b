// The keys as data: what `describe` says, written down instead of read.
#include <utility>

#include "config/keys.h"

namespace retryd::config {
namespace {

class Recorder : public Section {
  public:
    Recorder(std::string prefix, std::vector<KeyInfo>& keys) : prefix_(std::move(prefix)), keys_(keys) {}

    void key(std::string_view name, const Scalar& value, std::string_view meaning) override {
        add(name, value.type, value, meaning);
    }

    void list(std::string_view name, const Scalar& each, std::string_view meaning) override {
        add(name, Type::list, each, meaning);
    }

    void section(std::string_view name, const std::function<void(Section&)>& keys, std::string_view meaning) override {
        add(name, Type::section, {}, meaning);
        Recorder inner{path(name) + ".", keys_};
        keys(inner);
    }

    void text_or_section(std::string_view name, const Scalar& text, const std::function<void(Section&)>& keys,
                         std::string_view meaning) override {
        add(name, Type::text_or_section, text, meaning);
        Recorder inner{path(name) + ".", keys_};
        keys(inner);
    }

    void named_sections(std::string_view name, const DescribeNamed& keys, std::string_view meaning) override {
        add(name, Type::named_sections, {}, meaning);
        Recorder inner{path(name) + ".*.", keys_};
        keys(inner, {{}, path(name) + ".*"}, "*");
    }

    void sections(std::string_view name, Presence presence, const Describe& keys, std::string_view meaning) override {
        add(name, Type::sections, presence_of(presence), meaning);
        Recorder inner{path(name) + "[].", keys_};
        keys(inner, {{}, path(name) + "[]"});
    }

  private:
    std::string path(std::string_view name) const { return prefix_ + std::string{name}; }

    void add(std::string_view name, Type type, const Scalar& value, std::string_view meaning) {
        keys_.push_back({path(name), type, value.type, value.expected, value.fallback, value.required,
                         value.may_be_null, value.pattern, value.choices, value.range, std::string{meaning}});
    }

    std::string prefix_;
    std::vector<KeyInfo>& keys_;
};

}  // namespace

std::vector<KeyInfo> all_keys() {
    std::vector<KeyInfo> keys;
    Written written;
    Recorder recorder{"", keys};
    describe(recorder, written);
    return keys;
}

}  // namespace retryd::config
