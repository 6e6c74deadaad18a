#ifndef IMDUMP_CZLIB_SHIM_H
#define IMDUMP_CZLIB_SHIM_H

#include <zlib.h>

/// `inflateInit2` is a macro with sizeof in it; Swift needs a function.
static inline int imdump_inflateInit2(z_streamp stream, int windowBits) {
  return inflateInit2(stream, windowBits);
}

#endif
