// The command line of `weir`: finds the subcommand, parses its flags and runs it.
//
// A flag's value comes from the command line, else from the --config file (or WEIR_CONFIG), else
// from its environment variable, else it is the default. The file holds lines `flag = value`; those
// below `[NAME]` are for one subcommand and win over the others.
#pragma once

namespace weir {

// 0: done; 1: failed; 2: the command line (or a value in it) is wrong. Errors are one line on
// stderr, "weir: ...".
int RunCommandLine(int argc, const char* const* argv);

}  // namespace weir
