// Ctrl-C as a call instead of an end: SIGINT arrives on a thread of its own.
//
// Make it before any other thread, so that all of them leave the signal to it. One at a time.
#pragma once

#include <functional>
#include <mutex>
#include <thread>

namespace weir {

class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // What Ctrl-C does from now on, on the signal thread; empty: it ends the program (exit code 130).
  // When it returns, the action before is not running any more.
  void SetAction(std::function<void()> action);

 private:
  void Watch();

  std::mutex mutex_;
  std::function<void()> action_;
  int stop_event_;
  std::thread thread_;
};

}  // namespace weir
