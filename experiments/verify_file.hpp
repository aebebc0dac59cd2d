// verify FILE.xml: an MSCCL algorithm file, alone or on a cluster.
#pragma once

#include "experiments/commands.hpp"

namespace collsim::program {

// Exit 0 where the file is proven for every kind of call that it is for, 1 where it is refuted for one (or a
// given size cannot run on the given cluster), 75 where it could not be decided.
ExitCode verify_file(const VerifyCommand& command, const AlgorithmRequest& request, const Options& options);

}  // namespace collsim::program
