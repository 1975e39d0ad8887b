#include "config/tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/text.h"

namespace retryd::config {

namespace {

/// Builds the tree from the parser's events. `text` is what is parsed, and must outlive the builder.
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
    /// A list or map that has not ended yet; of a map, the key whose value comes next.
    struct Open {
        Node* node = nullptr;
        Position at;
        YAML::anchor_t anchor = 0;
        bool has_key = false;
        std::string key;
        Position key_at;
    };

    void open(NodeKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, bool flow);
    void close();
    /// Adds a finished node to the innermost open list or map: as item, key or value.
    void add_node(const Node* node, Position at);
    void take_key(Open& map, const Node* node, Position at);
    /// The mark of an empty value is at whatever comes next. The position that helps is that of its key, or of its `-`.
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
    /// The position found last, and its byte: the next one on the same line is counted from there.
    struct {
        Position at;
        std::size_t byte = 0;
    } last_position_;
};

/// Weights are cut here, so that aliases that double again and again cannot overflow them.
constexpr std::size_t heaviest = 1'000'000'000;

/// Whether the quoted text that begins at `at` is ever closed: yaml-cpp takes the rest of the file for it otherwise.
bool quote_is_closed(std::string_view text, std::size_t at) {
    const char quote = text[at];
    for (++at; at < text.size(); ++at) {
        if (quote == '"' && text[at] == '\\') {
            ++at;
        } else if (text[at] == quote) {
            if (quote == '"' || at + 1 >= text.size() || text[at + 1] != quote) return true;
            ++at;  // '' is a quote within a single-quoted text
        }
    }
    return false;
}

/// Past an anchor or tag and the blanks behind it.
std::size_t skip_properties(std::string_view text, std::size_t at) {
    while (at < text.size() && (text[at] == '&' || text[at] == '!')) {
        at = text.find_first_of(" \t\r\n", at);
        at = text.find_first_not_of(" \t\r\n", at);
    }
    return at;
}

TreeBuilder::TreeBuilder(std::string_view text, Tree& tree, Problems& problems)
    : text_(text), tree_(tree), problems_(problems) {}

Position TreeBuilder::position(const YAML::Mark& mark) {
    if (mark.is_null()) return {};
    const auto column = static_cast<std::size_t>(mark.column);
    const std::size_t at = std::min(static_cast<std::size_t>(mark.pos), text_.size());
    // Counting from the start of the line each time would take quadratic time on a file of one long line.
    const bool further = last_position_.at.line == mark.line + 1 && last_position_.byte <= at;
    const std::size_t from = further ? last_position_.byte : at - std::min(at, column);
    const int before = further ? last_position_.at.column : 1;
    const Position found{mark.line + 1, before + static_cast<int>(core::characters(text_.substr(from, at - from)))};
    last_position_ = {found, at};
    return found;
}

Position TreeBuilder::place_of_null(const YAML::Mark& mark) {
    if (open_.empty()) return position(mark);
    const Open& parent = open_.back();
    if (parent.node->kind == NodeKind::map) return parent.has_key ? parent.key_at : position(mark);
    if (parent.node->flow) return position(mark);
    // An empty item of a block list: its dash is the last one before the mark.
    YAML::Mark dash = mark;
    const std::size_t at = text_.rfind('-', std::min(static_cast<std::size_t>(mark.pos), text_.size()) - 1);
    if (at == std::string_view::npos) return position(mark);
    dash.line -= static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at),
                                             text_.begin() + static_cast<std::ptrdiff_t>(mark.pos), '\n'));
    const std::size_t line_end = text_.rfind('\n', at);
    dash.column = static_cast<int>(at - (line_end == std::string_view::npos ? 0 : line_end + 1));
    dash.pos = static_cast<int>(at);
    return position(dash);
}

void TreeBuilder::OnDocumentStart(const YAML::Mark& mark) {
    if (++documents_ == 1) return;
    const bool marked = text_.substr(std::min(static_cast<std::size_t>(mark.pos), text_.size())).starts_with("---");
    tree_.readable = tree_.readable && marked;
    add(problems_, position(mark),
        marked ? "a second document begins here; expected one document in the file"
               : "what begins here belongs to nothing above it; expected a key of the outermost map");
}

void TreeBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
    const Node& node = make(NodeKind::null);
    remember(anchor, &node);
    add_node(&node, place_of_null(mark));
}

void TreeBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
    const auto found = anchors_.find(anchor);
    if (found != anchors_.end()) return add_node(found->second, position(mark));
    add(problems_, position(mark), "an alias stands inside its own anchor; expected it after the anchored value");
    add_node(&make(NodeKind::null), position(mark));
}

void TreeBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                           const std::string& value) {
    Node& node = make(NodeKind::text);
    node.text = value;
    remember(anchor, &node);
    refuse_tag(position(mark), tag);
    refuse_open_quote(mark, position(mark));
    add_node(&node, position(mark));
}

void TreeBuilder::OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                                  YAML::EmitterStyle::value style) {
    open(NodeKind::list, mark, tag, anchor, style == YAML::EmitterStyle::Flow);
}

void TreeBuilder::OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                             YAML::EmitterStyle::value style) {
    open(NodeKind::map, mark, tag, anchor, style == YAML::EmitterStyle::Flow);
}

void TreeBuilder::open(NodeKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       bool flow) {
    refuse_tag(position(mark), tag);
    const bool under_key = !open_.empty() && open_.back().has_key;
    Node& node = make(kind);
    node.flow = flow;
    Open next;
    next.node = &node;
    next.at = flow || !under_key ? position(mark) : open_.back().key_at;
    next.anchor = anchor;
    open_.push_back(std::move(next));
}

void TreeBuilder::close() {
    const Open closed = std::move(open_.back());
    open_.pop_back();
    remember(closed.anchor, closed.node);
    add_node(closed.node, closed.at);
}

void TreeBuilder::add_node(const Node* node, Position at) {
    if (open_.empty()) {
        if (documents_ == 1) tree_.root = {"", {}, node, at};
        return;
    }
    Open& parent = open_.back();
    if (parent.node->kind == NodeKind::map && !parent.has_key) return take_key(parent, node, at);
    parent.node->children.push_back({std::move(parent.key), parent.key_at, node, at});
    parent.node->weight = std::min(parent.node->weight + node->weight, heaviest);
    parent.has_key = false;
    parent.key.clear();
}

void TreeBuilder::take_key(Open& map, const Node* node, Position at) {
    if (node->kind != NodeKind::text || node->text.empty()) {
        add(problems_, at, "a key is missing or is not a plain word; expected `name: value`");
    }
    map.key = node->text;
    map.key_at = at;
    map.has_key = true;
}

void TreeBuilder::refuse_tag(Position at, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    add(problems_, at, "a YAML tag (a word beginning with !) has no meaning here; expected a value without one");
}

void TreeBuilder::refuse_open_quote(const YAML::Mark& mark, Position at) {
    const std::size_t begin = skip_properties(text_, static_cast<std::size_t>(mark.pos));
    if (begin >= text_.size() || (text_[begin] != '"' && text_[begin] != '\'')) return;
    if (quote_is_closed(text_, begin)) return;
    add(problems_, at, "the quote that opens here is never closed; expected a closing quote");
    tree_.readable = false;
}

Node& TreeBuilder::make(NodeKind kind) {
    Node& node = tree_.nodes.emplace_back();
    node.kind = kind;
    return node;
}

void TreeBuilder::remember(YAML::anchor_t anchor, const Node* node) {
    if (anchor != 0) anchors_[anchor] = node;
}

/// Far more nodes than any real file has, and far fewer than would take long.
constexpr std::size_t largest_weight = 50'000;

std::string_view line_of(std::string_view text, int line) {
    for (; line > 1; --line) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + 1);
    }
    return text.substr(0, text.find('\n'));
}

/// What to do about a line that is not YAML: the most frequent mistakes.
std::string remedy(std::string_view line) {
    const std::string_view indentation = line.substr(0, line.find_first_not_of(" \t"));
    if (indentation.find('\t') != std::string_view::npos) return "expected spaces, since YAML forbids tabs here";
    if (line.find("${") != std::string_view::npos && line.find_first_of("{[") < line.find("${")) {
        return "expected quotes around a ${...} that stands inside {} or []";
    }
    return "expected YAML: look at indentation, brackets and quotes, on this line and the one before";
}

bool check_encoding(const std::string& text, Problems& problems) {
    const std::size_t valid = core::valid_utf8_length(text);
    if (valid == text.size()) return true;
    const std::string_view before = std::string_view{text}.substr(0, valid);
    const std::size_t line_end = before.rfind('\n');
    const std::string_view line = line_end == std::string_view::npos ? before : before.substr(line_end + 1);
    const Position at{static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
                      static_cast<int>(core::characters(line)) + 1};
    add(problems, at, "a byte here is not UTF-8 text; expected the whole file in UTF-8");
    return false;
}

void check_weight(Tree& tree, Problems& problems) {
    if (tree.root.node == nullptr || tree.root.node->weight <= largest_weight) return;
    tree.readable = false;
    add(problems, Position{},
        "the file unfolds to more than " + std::to_string(largest_weight) +
            " values; expected fewer (look at its aliases, `*name`)");
}

}  // namespace

Tree parse_tree(const std::string& text, Problems& problems) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    const std::string body = text.starts_with(byte_order_mark) ? text.substr(byte_order_mark.size()) : text;
    Tree tree;
    if (!check_encoding(body, problems)) {
        tree.readable = false;
        return tree;
    }
    TreeBuilder builder{body, tree, problems};
    std::istringstream stream{body};
    try {
        YAML::Parser parser{stream};
        // Only up to the second document: behind a token that cannot begin anything, the parser finds empty documents
        // without end.
        while (builder.documents() < 2 && parser.HandleNextDocument(builder)) {
        }
        check_weight(tree, problems);
    } catch (const YAML::Exception& error) {
        const Position at = builder.position(error.mark);
        // After a colon, yaml-cpp quotes the file: control characters, and maybe a piece of a password.
        const std::string what = error.msg.substr(0, error.msg.find(": "));
        add(problems, at, "this is not YAML (" + what + "); " + remedy(line_of(body, at.line)));
        tree.readable = false;
    }
    if (!tree.readable) tree.root = {};
    return tree;
}

}  // namespace retryd::config
