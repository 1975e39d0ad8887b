// EasyNetQ, which puts a failed message into a JSON document. Read from EasyNetQ 8.1.5: DefaultConsumeErrorStrategy.cs,
// SystemMessages/Error.cs (the document), DefaultErrorMessageSerializer.cs (the body as UTF-8 in it),
// MessageProperties.cs, Serialization/MessagePropertiesConverter.cs and JsonHeaderExtensions.cs (properties, and each
// header with its type, as its own serializer writes them: ServiceCollectionExtensions.cs), EasyNetQ.Hosepipe's
// ErrorRetry.cs (how it goes back: to the queue, by the default exchange). What the two other serializers write is read
// as well: NewtonsoftJsonSerializer.cs (TypeNameHandling.Auto), SystemTextJsonSerializer.cs (plain).
//
// A body that is no UTF-8 has been damaged when it comes here: the document cannot hold it. Bodies that
// Base64ErrorMessageSerializer wrote are not told apart from others.
#include <charconv>
#include <utility>

#include "core/dialects.h"
#include "core/json.h"
#include "core/text.h"

namespace retryd::core {
namespace {

constexpr int deepest_header = 16;

/// JsonHeaderType.cs.
enum HeaderType {
    null_type = 1,
    bool_type = 2,
    byte_type = 3,
    sbyte_type = 4,
    int16_type = 5,
    int32_type = 6,
    uint32_type = 7,
    int64_type = 8,
    single_type = 9,
    double_type = 10,
    decimal_type = 11,
    timestamp_type = 12,
    string_type = 13,
    bytes_type = 14,
    list_type = 15,
    dictionary_type = 16,
    binary_table_type = 17,
};

class Reader {
  public:
    explicit Reader(FailureScratch& scratch) : scratch_(scratch) {}

    /// False where something in it cannot be read: then it is not guessed at.
    bool headers(Json& json, Table& table) {
        const bool whole = json.each_member([&](std::string_view name, Json& member) { add(name, member, fields_); });
        table = Table{fields_.data(), fields_.size()};
        std::swap(fields_, scratch_.fields);
        return whole && good_;
    }

    std::optional<std::string_view> text(Json& json) { return json.text(scratch_.decoded); }

  private:
    void add(std::string_view raw_name, Json& json, std::vector<Field>& to) {
        const bool escaped = raw_name.find('\\') != std::string_view::npos;
        const auto name = escaped ? unescape_json(raw_name, scratch_.decoded) : raw_name;
        const auto value = name && name->size() <= longest_short_string ? any(json) : std::nullopt;
        if (!value) {
            good_ = false;
        } else if (!is_type_name(*name)) {
            to.push_back({*name, *value});
        }
    }

    /// Newtonsoft's note of a type, among the members of a dictionary.
    static bool is_type_name(std::string_view name) { return name == "$type"; }

    /// A header's value, in whichever of the three ways it stands.
    std::optional<Value> any(Json& json) {
        if (depth_ >= deepest_header) return std::nullopt;
        ++depth_;
        auto value = json.next() == '{' ? of_object(json) : json.next() == '[' ? list(json) : plain(json);
        --depth_;
        return value;
    }

    /// Without a type. A header that was delivered as text is bytes in .NET, and those are base64 in JSON.
    std::optional<Value> plain(Json& json) {
        if (json.null()) return Value{};
        if (const auto truth = json.boolean()) return Value{Kind::boolean, *truth};
        if (json.next() == '"') {
            const auto encoded = text(json);
            if (!encoded) return std::nullopt;
            return Value::of_longstr(decode_base64(*encoded, scratch_.decoded).value_or(*encoded));
        }
        const auto number = json.raw_number();
        return number ? of_number(*number, Kind::int64) : std::nullopt;
    }

    static std::optional<Value> of_number(std::string_view digits, Kind kind) {
        const char* const end = digits.data() + digits.size();
        std::int64_t whole = 0;
        if (const auto read = std::from_chars(digits.data(), end, whole); read.ec == std::errc{} && read.ptr == end) {
            const bool is_unsigned = kind == Kind::uint8 || kind == Kind::uint32 || kind == Kind::timestamp;
            if (is_unsigned && whole < 0) return std::nullopt;
            if (is_unsigned) return Value{kind, static_cast<std::uint64_t>(whole)};
            if (kind != Kind::float32 && kind != Kind::float64) return Value{kind, whole};
        }
        double number = 0;
        const auto read = std::from_chars(digits.data(), end, number);
        if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
        if (kind == Kind::float32) return Value{kind, static_cast<float>(number)};
        return Value{Kind::float64, number};
    }

    /// {"Type":14,"Value":"aGVsbG8="} of EasyNetQ's own, {"$type":"…","$value":…} or {"$type":"…","$values":[…]} of
    /// Newtonsoft's, {"UnixTime":1} of a timestamp, or a table.
    std::optional<Value> of_object(Json& json) {
        std::optional<std::int64_t> type;
        std::optional<Value> value;
        std::vector<Field> members;
        bool wrapped = false;
        const bool whole = json.each_member([&](std::string_view name, Json& member) {
            if (name == "Type" && !type && members.empty()) {
                type = member.integer();
                if (type) return;
            }
            if (name == "Value" && type) {
                value = typed(*type, member);
                if (!value) good_ = false;
                return;
            }
            if (name == "$value" || name == "$values") {
                wrapped = true;
                value = any(member);
                return;
            }
            if (name == "UnixTime" && members.size() <= 1) {
                const auto seconds = member.integer().value_or(-1);
                if (seconds >= 0) value = Value::of_timestamp(static_cast<std::uint64_t>(seconds));
                wrapped = seconds >= 0;
                if (wrapped) return;
            }
            add(name, member, members);
        });
        if (!whole || !good_) return std::nullopt;
        if (type || wrapped) return value;
        const std::vector<Field>& kept = scratch_.tables.emplace_back(std::move(members));
        return Value{Kind::table, Table{kept.data(), kept.size()}};
    }

    std::optional<Value> list(Json& json) {
        std::vector<Value> items;
        const bool whole = json.each_item([&](Json& item) {
            if (const auto value = any(item)) {
                items.push_back(*value);
            } else {
                good_ = false;
            }
        });
        if (!whole || !good_) return std::nullopt;
        const std::vector<Value>& kept = scratch_.arrays.emplace_back(std::move(items));
        return Value{Kind::array, Array{kept.data(), kept.size()}};
    }

    std::optional<Value> number(Json& json, Kind kind) {
        const auto digits = json.raw_number();
        return digits ? of_number(*digits, kind) : std::nullopt;
    }

    std::optional<Value> bytes(Json& json) {
        const auto encoded = text(json);
        const auto decoded = encoded ? decode_base64(*encoded, scratch_.decoded) : std::nullopt;
        return decoded ? std::optional{Value::of_longstr(*decoded)} : std::nullopt;
    }

    std::optional<Value> typed(std::int64_t type, Json& json) {
        switch (type) {
            case null_type:
                return json.null() ? std::optional{Value{}} : std::nullopt;
            case bool_type: {
                const auto truth = json.boolean();
                return truth ? std::optional{Value{Kind::boolean, *truth}} : std::nullopt;
            }
            case byte_type:
                return number(json, Kind::uint8);
            case sbyte_type:
                return number(json, Kind::int8);
            case int16_type:
                return number(json, Kind::int16);
            case int32_type:
                return number(json, Kind::int32);
            case uint32_type:
                return number(json, Kind::uint32);
            case int64_type:
                return number(json, Kind::int64);
            case single_type:
                return number(json, Kind::float32);
            case double_type:
            case decimal_type:
                return number(json, Kind::float64);
            case timestamp_type:
                return number(json, Kind::timestamp);
            case string_type: {
                const auto string = text(json);
                return string ? std::optional{Value::of_longstr(*string)} : std::nullopt;
            }
            case bytes_type:
                return bytes(json);
            case binary_table_type: {
                auto value = bytes(json);
                if (value) value->kind = Kind::bytes;
                return value;
            }
            case list_type:
            case dictionary_type:
                return any(json);
            default:
                return std::nullopt;
        }
    }

    FailureScratch& scratch_;
    std::vector<Field> fields_;
    int depth_ = 0;
    bool good_ = true;
};

/// Milliseconds as text of a TimeSpan: 1.02:03:04.5 is a day and more. It is set aside in a header, whatever it is.
std::optional<std::string_view> milliseconds_of(std::string_view span, std::string& decoded) {
    std::uint64_t days = 0;
    std::uint64_t parts[3] = {};
    const std::size_t colon = span.find(':');
    const std::size_t dot = span.find('.');
    const auto take = [&](std::uint64_t& number) {
        const auto read = std::from_chars(span.data(), span.data() + span.size(), number);
        const bool good = read.ec == std::errc{} && number < 100'000'000;
        span.remove_prefix(static_cast<std::size_t>(read.ptr - span.data()));
        return good;
    };
    if (dot < colon) {
        if (!take(days) || !span.starts_with('.')) return std::nullopt;
        span.remove_prefix(1);
    }
    for (std::uint64_t& part : parts) {
        if (!take(part)) return std::nullopt;
        if (&part != &parts[2] && !span.starts_with(':')) return std::nullopt;
        if (&part != &parts[2]) span.remove_prefix(1);
    }
    std::uint64_t thousandths = 0;
    if (span.starts_with('.')) {
        std::uint64_t weight = 100;
        for (const char c : span.substr(1)) {
            if (c < '0' || c > '9') return std::nullopt;
            thousandths += static_cast<std::uint64_t>(c - '0') * weight;
            weight /= 10;
        }
    } else if (!span.empty()) {
        return std::nullopt;
    }
    const std::uint64_t total = (((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2]) * 1'000 + thousandths;
    const std::string text = std::to_string(total);
    if (decoded.capacity() - decoded.size() < text.size()) return std::nullopt;
    const std::size_t begin = decoded.size();
    decoded.append(text);
    return std::string_view{decoded}.substr(begin);
}

void read_number(Json& json, std::optional<std::uint8_t>& to) {
    const auto number = json.integer();
    if (number && *number > 0 && *number < 256) to = static_cast<std::uint8_t>(*number);
}

/// BasicProperties. A property that was absent is null, 0 or not there.
bool read_properties(Json& json, Reader& reader, FailureScratch& scratch, Properties& to) {
    bool good = true;
    const auto short_text = [&](Json& value, std::optional<std::string_view>& property) {
        if (value.null()) return;
        const auto text = reader.text(value);
        good = good && text && text->size() <= longest_short_string;
        property = text;
    };
    const bool whole = json.each_member([&](std::string_view name, Json& value) {
        if (name == "ContentType") return short_text(value, to.content_type);
        if (name == "ContentEncoding") return short_text(value, to.content_encoding);
        if (name == "CorrelationId") return short_text(value, to.correlation_id);
        if (name == "ReplyTo") return short_text(value, to.reply_to);
        if (name == "MessageId") return short_text(value, to.message_id);
        if (name == "Type") return short_text(value, to.type);
        if (name == "UserId") return short_text(value, to.user_id);
        if (name == "AppId") return short_text(value, to.app_id);
        if (name == "ClusterId") return short_text(value, to.cluster_id);
        if (name == "DeliveryMode") return read_number(value, to.delivery_mode);
        if (name == "Priority") return read_number(value, to.priority);
        if (name == "Timestamp") {
            const auto seconds = value.integer().value_or(0);
            if (seconds > 0) to.timestamp = static_cast<std::uint64_t>(seconds);
        } else if (name == "Expiration" && value.next() == '"') {
            const auto span = reader.text(value);
            if (span) to.expiration = milliseconds_of(*span, scratch.decoded);
        } else if (name == "Headers" && value.next() == '{') {
            Table headers;
            good = reader.headers(value, headers) && good;
            to.headers = headers;
        }
    });
    return whole && good;
}

}  // namespace

std::optional<Failure> read_easynetq(const DialectArguments& from) {
    FailureScratch& scratch = from.scratch;
    const std::string_view document = from.delivery.message.body;
    scratch.decoded.reserve(2 * document.size() + 64);  // unescaped, and decoded once more
    Failure failure = failed_in("", from);
    failure.message = Message{};
    Reader reader{scratch};
    std::optional<std::string_view> body;
    bool properties = false;
    Json json{document};
    const bool whole = json.each_member([&](std::string_view name, Json& value) {
        if (name == "Queue") {
            failure.death.queue = reader.text(value).value_or("");
        } else if (name == "Exchange") {
            failure.death.exchange = reader.text(value).value_or("");
        } else if (name == "RoutingKey") {
            failure.death.routing_key = reader.text(value).value_or("");
        } else if (name == "Exception") {
            failure.exception = reader.text(value).value_or("");
        } else if (name == "DateTime") {
            failure.death.time = seconds_of(reader.text(value).value_or(""));
        } else if (name == "Message") {
            body = reader.text(value);
        } else if (name == "BasicProperties" && !properties) {
            properties = read_properties(value, reader, scratch, failure.message.properties);
        }
    });
    if (!whole || !body || !properties) return std::nullopt;
    failure.message.body = *body;
    return failure;
}

}  // namespace retryd::core
