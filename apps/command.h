// The pattern of a subcommand: one function that adds its flags and returns what runs.
//
//   Command MakePlanCommand(CLI::App& app) {
//     auto options = std::make_shared<Options>();
//     app.add_option("-c,--ctx", options->tokens, "Tokens of one sequence");
//     return [options] { return Run(*options); };
//   }
//
// To add one: write apps/NAME.cc like that, declare its function below and list it in kCommands
// (cli.cc). Every flag is then also a WEIR_... environment variable and a line of a --config file;
// errors that it returns are printed as one line and become the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/result.h"

namespace weir {

// Runs once, after the flags were parsed.
using Command = std::function<Result<void>()>;

Command MakeBenchCommand(CLI::App& app);
Command MakeBenchServeCommand(CLI::App& app);
Command MakeChatCommand(CLI::App& app);
Command MakeInspectCommand(CLI::App& app);
Command MakePerplexityCommand(CLI::App& app);
Command MakePlanCommand(CLI::App& app);
Command MakeRunCommand(CLI::App& app);
Command MakeServeCommand(CLI::App& app);

}  // namespace weir
