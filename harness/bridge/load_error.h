/* The dynamic loader's words, with the cause that a person can do something about in front of them. */
#ifndef OPC_BRIDGE_LOAD_ERROR_H
#define OPC_BRIDGE_LOAD_ERROR_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* words: what dlerror() said about path; torch_version: of the libtorch in this process. Returns OPC_ERR_LIBRARY. */
opc_status_t opc_load_error_explain(const char *path, const char *words, const char *torch_version, opc_error_t *error);

#ifdef __cplusplus
}
#endif
#endif
