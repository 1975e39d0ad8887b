// The one exception type of this folder: the text is for the operator and says cause, consequence and remedy.
#pragma once

#include <stdexcept>

namespace retryd::http {

class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace retryd::http
