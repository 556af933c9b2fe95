// Whether the other end of a connection is still there.
//
// A read that is pending on the socket tells the same at once, but not while bytes that nobody
// takes yet stand before the end; and a machine that has vanished tells nothing at all. So this is
// asked on a timer, and the kernel is told to ask too.
//
// Linux. Threads: the I/O thread.
#pragma once

#include <chrono>

namespace weir {

// True once the other end has closed its sending side or reset the connection.
[[nodiscard]] bool HasLeft(int socket);

// From now on a connection whose other end answers no probes, or takes no bytes, ends after about
// `silence`.
void ProbeWhenSilent(int socket, std::chrono::seconds silence);

}  // namespace weir
