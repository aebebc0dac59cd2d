#include "experiments/commands.hpp"

namespace collsim::program {

ExitCode export_nccl_tuner(const ExportCommand& command, const Options&) {
  throw Stop{ExitCode::usage, "collsim: export " + command.kind + " is not there yet in this version\n"};
}

}  // namespace collsim::program
