#include "server/liveness.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace weir {

bool HasLeft(int socket) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return true;
  return info.tcpi_state != TCP_ESTABLISHED;
}

void ProbeWhenSilent(int socket, std::chrono::seconds silence) {
  constexpr int kProbes = 3;
  const int interval_s = std::max(static_cast<int>(silence.count()) / (kProbes + 1), 1);
  const int on = 1;
  const auto user_timeout_ms = static_cast<unsigned>(silence.count() * 1000);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &interval_s, sizeof interval_s);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms, sizeof user_timeout_ms);
}

}  // namespace weir
