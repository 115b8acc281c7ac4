/* A network plug-in of another age. */
#include "netmodel/plugin.h"

const qhalo_net_plugin qhalo_net_plugin_table = {
    .abi = QHALO_NET_PLUGIN_ABI + 6, .size = 8, .name = "old", .help = "of another age"};
