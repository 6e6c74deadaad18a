#ifndef IMDUMP_CDEFLATE_SHIM_H
#define IMDUMP_CDEFLATE_SHIM_H

#include <libdeflate.h>

#endif
