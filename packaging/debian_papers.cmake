# SPDX-License-Identifier: MIT
#
# What Debian wants of a package that other systems don't: a copyright, a changelog in its own words, a compressed
# manual. cpack runs this where it has laid out the packages' files, before it packs them.
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)  # or what SOURCE_DATE_EPOCH says
foreach(pair IN ITEMS library:libsublock-dev command:sublock)
  string(REGEX MATCH "(.*):(.*)" pair ${pair})
  set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${CMAKE_MATCH_1}${CPACK_PACKAGING_INSTALL_PREFIX})
  set(papers ${root}/share/doc/${CMAKE_MATCH_2})
  if(NOT EXISTS ${root})
    continue()
  endif()
  file(MAKE_DIRECTORY ${papers})
  configure_file(${CPACK_SUBLOCK_SOURCE}/LICENSE ${papers}/copyright COPYONLY)
  file(WRITE ${papers}/changelog "sublock (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
    "  * What changed is in the CHANGELOG.md of libsublock-dev.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
  file(GLOB manuals ${root}/share/man/man1/*.1)
  execute_process(COMMAND gzip -9nf ${papers}/changelog ${manuals} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
