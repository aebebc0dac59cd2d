#include "sim/model/network_options.hpp"

namespace collsim {

const char* name_of(NetworkKind kind) { return kind == NetworkKind::packet ? "packet" : "fluid"; }

}  // namespace collsim
