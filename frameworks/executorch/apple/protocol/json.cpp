#include "json.h"

#include <cmath>
#include <cstdlib>

namespace app {
namespace {

constexpr int kDeepest = 32;
constexpr double kLargestExact = 9007199254740992.0; // 2^53

void append_utf8(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const uint32_t lead = more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0;
  text += static_cast<char>(lead | (code >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) {
    text += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
  }
}

class Parser final {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Json parse_all() {
    Json value = parse_value(0);
    skip_space();
    if (at_ != text_.size()) {
      fail("something follows");
    }
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw JsonError("no JSON at byte " + std::to_string(at_) + ": " + what);
  }

  void skip_space() {
    while (at_ < text_.size() && std::string(" \t\r\n").find(text_[at_]) != std::string::npos) {
      ++at_;
    }
  }

  char next() {
    if (at_ >= text_.size()) {
      fail("it ends too early");
    }
    return text_[at_++];
  }

  bool take(char wanted) {
    skip_space();
    if (at_ < text_.size() && text_[at_] == wanted) {
      ++at_;
      return true;
    }
    return false;
  }

  void expect(char wanted) {
    if (!take(wanted)) {
      fail(std::string("'") + wanted + "' is missing");
    }
  }

  bool take_word(const std::string& word) {
    if (text_.compare(at_, word.size(), word) != 0) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  Json parse_value(int depth) {
    if (depth > kDeepest) {
      fail("it is nested too deeply");
    }
    Json value;
    if (take('{')) {
      value.kind = Json::Kind::kObject;
      parse_members(value, depth);
    } else if (take('[')) {
      value.kind = Json::Kind::kList;
      parse_elements(value, depth);
    } else if (take('"')) {
      value.kind = Json::Kind::kText;
      value.text = parse_text();
    } else if (take_word("true") || take_word("false")) {
      value.kind = Json::Kind::kBoolean;
      value.boolean = text_[at_ - 2] == 'u';
    } else if (!take_word("null")) {
      value.kind = Json::Kind::kNumber;
      value.number = parse_number();
    }
    return value;
  }

  void parse_members(Json& value, int depth) {
    if (take('}')) {
      return;
    }
    do {
      expect('"');
      const std::string name = parse_text();
      expect(':');
      value.object[name] = parse_value(depth + 1);
    } while (take(','));
    expect('}');
  }

  void parse_elements(Json& value, int depth) {
    if (take(']')) {
      return;
    }
    do {
      value.list.push_back(parse_value(depth + 1));
    } while (take(','));
    expect(']');
  }

  double parse_number() {
    const size_t begin = at_;
    while (at_ < text_.size() && std::string("+-.0123456789eE").find(text_[at_]) != std::string::npos) {
      ++at_;
    }
    const std::string digits = text_.substr(begin, at_ - begin);
    char* end = nullptr;
    const double number = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0' || !std::isfinite(number)) {
      at_ = begin;
      fail("there is no value");
    }
    return number;
  }

  uint32_t parse_hexadecimal() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      const size_t digit = std::string("0123456789abcdef").find(static_cast<char>(next() | 0x20));
      if (digit == std::string::npos) {
        fail("there is no hexadecimal digit");
      }
      code = code * 16 + static_cast<uint32_t>(digit);
    }
    return code;
  }

  uint32_t parse_code_point() {
    const uint32_t code = parse_hexadecimal();
    if (code < 0xd800 || code > 0xdfff) {
      return code;
    }
    if (code > 0xdbff || next() != '\\' || next() != 'u') {
      fail("half of a surrogate pair");
    }
    const uint32_t low = parse_hexadecimal();
    if (low < 0xdc00 || low > 0xdfff) {
      fail("half of a surrogate pair");
    }
    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }

  std::string parse_text() {
    std::string text;
    for (char c = next(); c != '"'; c = next()) {
      if (static_cast<unsigned char>(c) < 0x20) {
        fail("a control character in a text");
      }
      if (c != '\\') {
        text += c;
        continue;
      }
      const char escape = next();
      const size_t place = std::string("\"\\/bfnrt").find(escape);
      if (escape == 'u') {
        append_utf8(text, parse_code_point());
      } else if (place != std::string::npos) {
        text += "\"\\/\b\f\n\r\t"[place];
      } else {
        fail("an unknown escape");
      }
    }
    return text;
  }

  const std::string& text_;
  size_t at_ = 0;
};

// Length of the UTF-8 sequence at a place; 0 where there is none.
size_t sequence_length(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) -> uint32_t { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const uint32_t lead = byte(at);
  const size_t length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead < 0xc2 ? 0 : lead < 0xf0 ? 3 : 4;
  if (length == 0 || lead > 0xf4) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  const uint32_t second = byte(at + 1);
  const bool is_refused = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || // long, surrogate
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f); // long, beyond U+10FFFF
  return is_refused ? 0 : length;
}

} // namespace

const Json& Json::operator[](const std::string& name) const {
  static const Json null;
  const auto member = object.find(name);
  return member == object.end() ? null : member->second;
}

std::optional<std::string> Json::as_text() const {
  return kind == Kind::kText ? std::optional(text) : std::nullopt;
}

std::optional<double> Json::as_number() const {
  return kind == Kind::kNumber ? std::optional(number) : std::nullopt;
}

std::optional<bool> Json::as_boolean() const {
  return kind == Kind::kBoolean ? std::optional(boolean) : std::nullopt;
}

std::optional<int64_t> Json::as_size() const {
  if (kind != Kind::kNumber || number < 0 || number > kLargestExact || std::floor(number) != number) {
    return std::nullopt;
  }
  return static_cast<int64_t>(number);
}

Json parse_json(const std::string& text) {
  return Parser(text).parse_all();
}

std::string quote(const std::string& text) {
  static const char* const kDigits = "0123456789abcdef";
  std::string quoted = "\"";
  for (size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    const size_t length = sequence_length(text, at);
    if (length == 0) {
      quoted += "\\ufffd";
    } else if (c < 0x20 || c == 0x7f) {
      quoted += std::string("\\u00") + kDigits[c >> 4] + kDigits[c & 15];
    } else {
      quoted += c == '"' || c == '\\' ? "\\" : "";
      quoted += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return quoted + '"';
}

} // namespace app
