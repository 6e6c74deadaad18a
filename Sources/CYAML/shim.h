#ifndef IMDUMP_CYAML_SHIM_H
#define IMDUMP_CYAML_SHIM_H

#include <yaml.h>

#endif
