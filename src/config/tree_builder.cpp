#include "config/tree_builder.h"

#include <algorithm>
#include <utility>

#include "core/utf8.h"

namespace retryd::config {
namespace {

/// Weights stop here, so that doubling aliases cannot overflow them.
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

}  // namespace

TreeBuilder::TreeBuilder(std::string_view text, Tree& tree, Problems& problems)
    : text_(text), tree_(tree), problems_(problems) {}

Position TreeBuilder::position(const YAML::Mark& mark) {
    if (mark.is_null()) return {};
    const auto column = static_cast<std::size_t>(mark.column);
    const std::size_t at = std::min(static_cast<std::size_t>(mark.pos), text_.size());
    // From the last one on where it is on the same line: else a file in one line would be counted again and again.
    const bool further = counted_.at.line == mark.line + 1 && counted_.pos <= at;
    const std::size_t from = further ? counted_.pos : at - std::min(at, column);
    const int before = further ? counted_.at.column : 1;
    const Position found{mark.line + 1, before + static_cast<int>(core::characters(text_.substr(from, at - from)))};
    counted_ = {found, at};
    return found;
}

Position TreeBuilder::place_of_null(const YAML::Mark& mark) {
    if (open_.empty()) return position(mark);
    const Open& parent = open_.back();
    if (parent.node->kind == NodeKind::map) return parent.has_key ? parent.key_at : position(mark);
    if (parent.node->flow) return position(mark);
    // An empty item of a block list: the mark is already at whatever comes next. Its dash is the last one before.
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
    hang(&node, place_of_null(mark));
}

void TreeBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
    const auto found = anchors_.find(anchor);
    if (found != anchors_.end()) return hang(found->second, position(mark));
    add(problems_, position(mark), "an alias stands inside its own anchor; expected it after the anchored value");
    hang(&make(NodeKind::null), position(mark));
}

void TreeBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                           const std::string& value) {
    Node& node = make(NodeKind::text);
    node.text = value;
    remember(anchor, &node);
    refuse_tag(position(mark), tag);
    refuse_open_quote(mark, position(mark));
    hang(&node, position(mark));
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
    next.child.at = flow || !under_key ? position(mark) : open_.back().key_at;
    next.anchor = anchor;
    open_.push_back(std::move(next));
}

void TreeBuilder::close() {
    const Open closed = std::move(open_.back());
    open_.pop_back();
    remember(closed.anchor, closed.node);
    hang(closed.node, closed.child.at);
}

void TreeBuilder::hang(const Node* node, Position at) {
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

}  // namespace retryd::config
