// JSON as far as the protocol of runner apps needs it: lists, objects, texts, numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace app {

struct JsonError final : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A value. Those members that its kind does not have are empty.
struct Json {
  enum class Kind { kNull, kBoolean, kNumber, kText, kList, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  double number = 0;
  std::string text;
  std::vector<Json> list;
  std::map<std::string, Json> object;

  // The member of an object; null where this is none, or has no such member.
  const Json& operator[](const std::string& name) const;

  std::optional<std::string> as_text() const;
  std::optional<double> as_number() const;
  std::optional<bool> as_boolean() const;
  // A whole number that is not negative, and exact as a double.
  std::optional<int64_t> as_size() const;
};

// Throws JsonError with a sentence that says where the text is wrong.
Json parse_json(const std::string& text);

// The text with quotes. Bytes that are no UTF-8 become U+FFFD, so that the whole stays readable.
std::string quote(const std::string& text);

} // namespace app
