# cmake -DPAGE=index.html -DTEMPLATE=page.cpp.in -DOUTPUT=page.cpp -P embed.cmake
#
# The page is one answer: where index.html says /*{FILE}*/, that file beside it is put in. In hexadecimal digits, because
# CMake's strings have meanings of their own for semicolons, brackets and backslashes.
get_filename_component(folder ${PAGE} DIRECTORY)
file(READ ${PAGE} page)
string(REGEX MATCHALL "/\\*{[a-z_.]+}\\*/" places "${page}")
file(READ ${PAGE} digits HEX)
foreach(place ${places})
  string(REGEX REPLACE "[/*{}]" "" part ${place})
  file(READ ${folder}/${part} part_digits HEX)
  string(HEX "${place}" place_digits)
  string(REPLACE "${place_digits}" "${part_digits}" digits "${digits}")
endforeach()
string(REGEX REPLACE "(..)" "0x\\1," bytes "${digits}")
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
