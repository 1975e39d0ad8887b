// A listening socket.
#pragma once

#include "config/settings.h"

namespace retryd::http {

struct Listener {
    int fd = -1;
    config::Http address;  // with the real port
};

/// Throws Error, with the cause alone. The caller closes it.
Listener listen_on(const config::Http& settings);

}  // namespace retryd::http
