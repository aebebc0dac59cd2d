# cmake -DBUILD=build folder -DPREFIX=folder -P install.cmake: installs BUILD into PREFIX, which is emptied first, so that a
# file that is no longer installed is missed.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
