#include "interrupts.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace weir {
namespace {

constexpr int kInterruptedExit = 130;  // as shells count it: 128 + SIGINT

sigset_t InterruptSet() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

Interrupts::Interrupts() : stop_event_(eventfd(0, EFD_CLOEXEC)) {
  WEIR_CHECK(stop_event_ >= 0);
  const sigset_t set = InterruptSet();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { Watch(); });
}

Interrupts::~Interrupts() {
  const uint64_t one = 1;
  WEIR_CHECK(write(stop_event_, &one, sizeof(one)) == sizeof(one));
  thread_.join();
  close(stop_event_);
  const sigset_t set = InterruptSet();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Interrupts::SetAction(std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  action_ = std::move(action);
}

void Interrupts::Watch() {
  const sigset_t set = InterruptSet();
  const int signals = signalfd(-1, &set, SFD_CLOEXEC);
  WEIR_CHECK(signals >= 0);
  std::array<pollfd, 2> waits = {{{stop_event_, POLLIN, 0}, {signals, POLLIN, 0}}};
  while (poll(waits.data(), waits.size(), -1) < 0 || (waits[0].revents & POLLIN) == 0) {
    signalfd_siginfo info{};
    if ((waits[1].revents & POLLIN) == 0 || read(signals, &info, sizeof(info)) <= 0) continue;
    const std::lock_guard lock(mutex_);
    if (!action_) _exit(kInterruptedExit);
    action_();
  }
  close(signals);
}

}  // namespace weir
