# The Debian package: `cpack` in a build folder of the preset `package`. scripts/package runs it with Debian's flags and
# checks the package. Needs dpkg-dev and file, which find the packages of the libraries.
set(RETRYD_PACKAGE_REVISION 1 CACHE STRING "Of the package: raised when the same version is packaged again")
cmake_host_system_information(RESULT debian QUERY DISTRIB_VERSION_ID)

# ~ sorts before nothing: the package of Debian 12 is older than the one of 13, which is older than Debian's own.
set(CPACK_DEBIAN_PACKAGE_RELEASE ${RETRYD_PACKAGE_REVISION}~deb${debian})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME retryd)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The retryd authors <authors@retryd.example>")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)  # the authorities for amqps://
set(CPACK_DEBIAN_PACKAGE_SUGGESTS rabbitmq-server)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "retry sidecar for RabbitMQ")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Consumers reject a message; retryd brings it back to its queue after 5
seconds, then 30, then 2 minutes and so on. When its ladder of delays is used
up, the message is parked, with headers that say why.
.
No consumer, producer or queue is changed: one policy on the broker and one
YAML file are all it takes. All state travels in the messages, delivery is at
least once, and no plugin is needed. Works with RabbitMQ 3.10 and later and,
with a weaker guarantee, with 3.8.")

set(scripts ${CMAKE_CURRENT_SOURCE_DIR}/debian)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${scripts}/postinst ${scripts}/prerm ${scripts}/postrm ${scripts}/conffiles)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# What Debian's policy wants under /usr/share/doc. Dated by SOURCE_DATE_EPOCH where that is set.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(debian/changelog.in changelog.Debian @ONLY)
find_program(GZIP gzip REQUIRED)
add_custom_command(
  OUTPUT changelog.gz changelog.Debian.gz
  COMMAND ${GZIP} -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md > changelog.gz
  COMMAND ${GZIP} -9nc changelog.Debian > changelog.Debian.gz
  DEPENDS ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian
  VERBATIM)
add_custom_target(changelogs ALL DEPENDS changelog.gz changelog.Debian.gz)
install(FILES debian/copyright ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz ${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian.gz
        DESTINATION ${docs} COMPONENT documentation)
include(CPack)
