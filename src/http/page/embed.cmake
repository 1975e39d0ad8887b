# cmake -DPAGE=index.html -DTEMPLATE=page.cpp.in -DOUTPUT=page.cpp -P embed.cmake
file(READ ${PAGE} digits HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${digits}")
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
