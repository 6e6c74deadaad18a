#ifndef IMDUMP_CZLIB_SHIM_H
#define IMDUMP_CZLIB_SHIM_H

#include <zlib.h>

/// `inflateInit2` is a macro with sizeof in it; Swift needs a function.
static inline int imdump_inflateInit2(z_streamp stream, int windowBits) {
  return inflateInit2(stream, windowBits);
}

/// The same of `deflateInit2`: a raw stream with the greatest window.
static inline int imdump_deflateInit2(z_streamp stream, int level, int strategy) {
  return deflateInit2(stream, level, Z_DEFLATED, -15, 9, strategy);
}

#endif
