// From yaml-cpp's events to the tree. Seen by tree.cpp alone.
#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/tree.h"

namespace retryd::config {

/// `text` is what is parsed, and outlives the builder.
class TreeBuilder : public YAML::EventHandler {
  public:
    TreeBuilder(std::string_view text, Tree& tree, Problems& problems);

    void OnDocumentStart(const YAML::Mark& mark) override;
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override;
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value style) override;
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value style) override;
    void OnMapEnd() override { close(); }

    /// How many documents have begun.
    int documents() const { return documents_; }

    /// In characters, where yaml-cpp counts bytes.
    Position position(const YAML::Mark& mark);

  private:
    /// A list or map that is not closed yet; of a map, the key whose value comes next.
    struct Open {
        Node* node = nullptr;
        Child child;  // how it will hang in its parent
        YAML::anchor_t anchor = 0;
        bool has_key = false;
        std::string key;
        Position key_at;
    };

    void open(NodeKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, bool flow);
    void close();
    /// Hangs a finished node into the innermost open list or map: as item, key or value.
    void hang(const Node* node, Position at);
    void take_key(Open& map, const Node* node, Position at);
    /// An empty value's mark is at whatever comes next; what shows where it is missing is its key, or its `-`.
    Position place_of_null(const YAML::Mark& mark);
    void refuse_tag(Position at, const std::string& tag);
    void refuse_open_quote(const YAML::Mark& mark, Position at);
    Node& make(NodeKind kind);
    void remember(YAML::anchor_t anchor, const Node* node);

    std::string_view text_;
    Tree& tree_;
    Problems& problems_;
    std::vector<Open> open_;
    std::map<YAML::anchor_t, const Node*> anchors_;
    int documents_ = 0;
    /// The position found last, and its byte.
    struct {
        Position at;
        std::size_t pos = 0;
    } counted_;
};

}  // namespace retryd::config
