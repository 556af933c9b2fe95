// Intel's tile unit (AMX), which multiplies 16 x 64 by 64 x 16 bytes to exact integers.
#pragma once

namespace weir {

// Asks the system to let this process use it, and tries it once: a virtual machine may announce the
// unit and fault on its use. Any thread may use it afterwards. Not safe against a concurrent change
// of the SIGILL handler; called once, before threads start (ChosenIsa() does).
[[nodiscard]] bool EnableAmx();

}  // namespace weir
