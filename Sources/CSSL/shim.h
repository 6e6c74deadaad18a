#ifndef IMDUMP_CSSL_SHIM_H
#define IMDUMP_CSSL_SHIM_H

#include <openssl/err.h>
#include <openssl/evp.h>
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

// The SHA-256 of the public key in the peer's certificate, in the form that certificates have it (SubjectPublicKeyInfo): 1, or 0
// where there is none.
static inline int imdump_ssl_peer_key_digest(const SSL *connection, unsigned char digest[32]) {
  X509 *certificate = SSL_get1_peer_certificate(connection);
  if (certificate == NULL) return 0;
  unsigned char *bytes = NULL;
  int count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes);
  X509_free(certificate);
  if (count <= 0) return 0;
  int done = EVP_Digest(bytes, (size_t)count, digest, NULL, EVP_sha256(), NULL);
  OPENSSL_free(bytes);
  return done == 1;
}

#endif
