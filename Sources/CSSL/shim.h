#ifndef IMDUMP_CSSL_SHIM_H
#define IMDUMP_CSSL_SHIM_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// Each of these is a macro in OpenSSL; Swift needs a function.

static inline long imdump_ssl_set_min_version(SSL_CTX *context, int version) {
  return SSL_CTX_set_min_proto_version(context, version);
}

static inline long imdump_ssl_set_modes(SSL_CTX *context) {
  return SSL_CTX_set_mode(
      context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}

static inline long imdump_ssl_set_server_name(SSL *connection, const char *name) {
  return SSL_set_tlsext_host_name(connection, name);
}

static inline void imdump_ssl_cache_sessions(SSL_CTX *context, int mode) {
  SSL_CTX_set_session_cache_mode(context, mode);
}

#endif
