# SPDX-License-Identifier: MIT
#
# vcpkg's helper functions, as far as our port calls them, each with what it does there: so that the port runs where
# there is no vcpkg. What it calls beside them, CMake does not know, and says so.
#
#   cmake -DPORT_DIR=… -DWORK=… -P vcpkg_stub.cmake
cmake_minimum_required(VERSION 3.25)
set(CURRENT_PORT_DIR ${PORT_DIR})
set(CURRENT_PACKAGES_DIR ${WORK}/packages)
set(PORT sublock)

function(must_know)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vcpkg would not know ${arg_UNPARSED_ARGUMENTS}")
  endif()
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" SOURCE_PATH OPTIONS)
  must_know()
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${WORK}/build -G Ninja ${arg_OPTIONS}
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_cmake_install)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build --target install COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH;PACKAGE_NAME" "")
  must_know()
  # One folder higher, so that the way back to the prefix is one step shorter.
  file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*)
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(REPLACE "LIST_FILE}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)"
      "LIST_FILE}\" PATH)" higher "${text}")
    get_filename_component(name ${file} NAME)
    file(WRITE ${CURRENT_PACKAGES_DIR}/share/${PORT}/${name} "${higher}")
  endforeach()
  get_filename_component(above ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} DIRECTORY)
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH})
  if(above MATCHES "/cmake$")
    file(REMOVE_RECURSE ${above})
  endif()
endfunction()

function(vcpkg_fixup_pkgconfig)
  file(GLOB modules ${CURRENT_PACKAGES_DIR}/share/pkgconfig/*.pc ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc)
  if(NOT modules)
    message(FATAL_ERROR "there is nothing for pkg-config")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" FILE_LIST)
  must_know()
  configure_file(${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright COPYONLY)
endfunction()

include(${PORT_DIR}/portfile.cmake)
