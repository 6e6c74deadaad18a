#ifndef IMDUMP_CPCAP_SHIM_H
#define IMDUMP_CPCAP_SHIM_H

#include <pcap/pcap.h>

#endif
