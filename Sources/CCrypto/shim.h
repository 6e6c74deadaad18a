#ifndef IMDUMP_CCRYPTO_SHIM_H
#define IMDUMP_CCRYPTO_SHIM_H

// The one-shot hashes below keep their state on the stack. Those of EVP allocate a context each.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/md5.h>
#include <openssl/sha.h>
#include <string.h>

enum { imdump_sha1 = 1, imdump_sha256 = 2, imdump_sha384 = 3 };

typedef union {
  SHA_CTX sha1;
  SHA256_CTX sha256;
  SHA512_CTX sha384;
} imdump_hash_state;

static inline size_t imdump_hash_size(int hash) {
  return hash == imdump_sha1 ? 20 : hash == imdump_sha256 ? 32 : 48;
}

static inline void imdump_hash_start(imdump_hash_state *state, int hash) {
  if (hash == imdump_sha1) SHA1_Init(&state->sha1);
  else if (hash == imdump_sha256) SHA256_Init(&state->sha256);
  else SHA384_Init(&state->sha384);
}

static inline void imdump_hash_add(imdump_hash_state *state, int hash, const void *bytes, size_t count) {
  if (count == 0) return;
  if (hash == imdump_sha1) SHA1_Update(&state->sha1, bytes, count);
  else if (hash == imdump_sha256) SHA256_Update(&state->sha256, bytes, count);
  else SHA384_Update(&state->sha384, bytes, count);
}

static inline void imdump_hash_end(imdump_hash_state *state, int hash, unsigned char *digest) {
  if (hash == imdump_sha1) SHA1_Final(digest, &state->sha1);
  else if (hash == imdump_sha256) SHA256_Final(digest, &state->sha256);
  else SHA384_Final(digest, &state->sha384);
}

// HMAC (RFC 2104) of two strings in a row. A key longer than a block of the hash is not needed by TLS: at most 64 bytes.
static inline void imdump_hmac(
    int hash, const void *key, size_t key_count, const void *first, size_t first_count, const void *second,
    size_t second_count, unsigned char *digest) {
  imdump_hash_state state;
  unsigned char pad[128];
  const size_t block = hash == imdump_sha384 ? 128 : 64;
  if (key_count > 64) key_count = 64;
  memset(pad, 0x36, block);
  for (size_t i = 0; i < key_count; i++) pad[i] ^= ((const unsigned char *)key)[i];
  imdump_hash_start(&state, hash);
  imdump_hash_add(&state, hash, pad, block);
  imdump_hash_add(&state, hash, first, first_count);
  imdump_hash_add(&state, hash, second, second_count);
  imdump_hash_end(&state, hash, digest);
  for (size_t i = 0; i < block; i++) pad[i] ^= 0x36 ^ 0x5c;
  imdump_hash_start(&state, hash);
  imdump_hash_add(&state, hash, pad, block);
  imdump_hash_add(&state, hash, digest, imdump_hash_size(hash));
  imdump_hash_end(&state, hash, digest);
  OPENSSL_cleanse(pad, sizeof pad);
  OPENSSL_cleanse(&state, sizeof state);
}

static inline void imdump_md5(const void *bytes, size_t count, unsigned char *digest) {
  MD5_CTX state;
  MD5_Init(&state);
  if (count > 0) MD5_Update(&state, bytes, count);
  MD5_Final(digest, &state);
}

static inline void imdump_sha256_of(const void *bytes, size_t count, unsigned char *digest) {
  SHA256_CTX state;
  SHA256_Init(&state);
  if (count > 0) SHA256_Update(&state, bytes, count);
  SHA256_Final(digest, &state);
}

// How an AEAD takes the nonce and the tag of a record.
enum imdump_aead { imdump_aead_any = 0, imdump_aead_ccm = 1, imdump_aead_gcm = 2 };

// Lets `imdump_aead_open` give a context of GCM its nonces; 0 where libcrypto cannot.
static inline int imdump_aead_prepare_gcm(EVP_CIPHER_CTX *context) {
  // With -1 it is the whole nonce, which the first record replaces.
  unsigned char nonce[12] = {0};
  return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_IV_FIXED, -1, nonce) == 1;
}

// Opens one record by an AEAD whose key the context has; 1 when the tag is right. `output` is valid only then.
static inline int imdump_aead_open(
    EVP_CIPHER_CTX *context, enum imdump_aead aead, const unsigned char *nonce, const unsigned char *header,
    int header_count, const unsigned char *input, int count, const unsigned char *tag, int tag_count,
    unsigned char *output) {
  int made = 0;
  if (aead == imdump_aead_gcm) {
    // One call for both. EVP_DecryptInit_ex with a nonce first asks how long it is, which takes a third of the time of a short record.
    const OSSL_PARAM settings[] = {
        {OSSL_CIPHER_PARAM_AEAD_TAG, OSSL_PARAM_OCTET_STRING, (void *)tag, (size_t)tag_count, 0},
        {OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV, OSSL_PARAM_OCTET_STRING, (void *)nonce, 12, 0},
        {NULL, 0, NULL, 0, 0}};
    if (EVP_CIPHER_CTX_set_params(context, settings) != 1) return 0;
    if (EVP_DecryptUpdate(context, NULL, &made, header, header_count) != 1) return 0;
    if (count > 0 && EVP_DecryptUpdate(context, output, &made, input, count) != 1) return 0;
    return EVP_DecryptFinal_ex(context, output + count, &made) == 1;
  }
  if (aead == imdump_aead_ccm) {
    if (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, tag_count, (void *)tag) != 1) return 0;
    if (EVP_DecryptInit_ex(context, NULL, NULL, NULL, nonce) != 1) return 0;
    if (EVP_DecryptUpdate(context, NULL, &made, NULL, count) != 1) return 0;
    if (EVP_DecryptUpdate(context, NULL, &made, header, header_count) != 1) return 0;
    // CCM checks its tag in the one call that takes the text, and an empty text needs the call as well.
    return EVP_DecryptUpdate(context, output, &made, input, count) > 0;
  }
  if (EVP_DecryptInit_ex(context, NULL, NULL, NULL, nonce) != 1) return 0;
  if (EVP_DecryptUpdate(context, NULL, &made, header, header_count) != 1) return 0;
  if (count > 0 && EVP_DecryptUpdate(context, output, &made, input, count) != 1) return 0;
  if (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, tag_count, (void *)tag) != 1) return 0;
  return EVP_DecryptFinal_ex(context, output + count, &made) == 1;
}

#endif
