// SHA-256 (FIPS 180-4), so that an app can say which program it is without a library that other systems lack.
#pragma once

#include <string>

namespace app {

// The digest of a file in hexadecimal; empty where it cannot be read.
std::string sha256_of_file(const std::string& path);

} // namespace app
