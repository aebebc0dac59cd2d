# cmake -DSOURCE=<repository> -DNAMES=a,b -DOUTPUT=presets.cpp -P embed_presets.cmake
# Writes the hardware catalogue as C++ (experiments/presets.hpp).
string(REPLACE "," ";" names "${NAMES}")
set(entries "")
foreach(name IN LISTS names)
  set(path experiments/hardware/${name}.yaml)
  file(READ ${SOURCE}/${path} text)
  string(FIND "${text}" ")yaml\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${path} holds the end of a raw string literal")
  endif()
  string(APPEND entries "      {\"${name}\", \"${path}\", R\"yaml(${text})yaml\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Written by experiments/embed_presets.cmake.
#include \"experiments/presets.hpp\"

namespace collsim::program {

const std::vector<Preset>& presets() {
  static const std::vector<Preset> catalogue = {
${entries}  };
  return catalogue;
}

}  // namespace collsim::program
")
