/* What an AOTInductor package (.pt2) says of itself, read from the file: nothing of it is loaded. No libtorch.
 *
 * A package is a zip file with a folder data/aotinductor/NAME/ a model: the compiled library, metadata (device,
 * processor, instructions), a list of the operators that it calls by name, and its own source, where the shapes and
 * dtypes of the inputs stand. Where the exported program is in it as well (torch.export.pt2_archive's package_pt2),
 * data/sample_inputs/NAME.pt holds the inputs that it was exported with. Ownership: opc_package_clear. Threads: one.
 * Source: torch/export/pt2_archive/constants.py, torch/csrc/inductor/aoti_package. */
#ifndef OPC_MODEL_PACKAGE_MODEL_PACKAGE_H
#define OPC_MODEL_PACKAGE_MODEL_PACKAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_package_model {
  char *name;             /* "model" where nobody chose another */
  char device[16];        /* "cpu", "cuda"; "" unknown, as all of these */
  char machine[32];       /* "x86_64" */
  char platform[32];      /* "linux" */
  char instructions[128]; /* "AVX512 AVX512_VNNI" */
  char capability[16];    /* of a CUDA device, "90" */
  bool kernels; /* it brings CUDA kernels of its own, which run on devices of that capability alone; true where its
                   source does not say */
  char libraries[256]; /* of operators; only packages that were exported with this in their metadata say so */
  json_t *calls;       /* object: operator "ns::op.overload" -> array of the arguments' names */
  json_t *classes;     /* object: "ns.Name" -> true */
  json_t *inputs; /* array of VALUEs of the sample format, as many as the model takes; NULL: the package does not say */
  bool example;   /* they have the values of the example that it was exported with, which a package holds that holds the
                     exported program, too */
  size_t outputs; /* 0: the package does not say */
} opc_package_model_t;

typedef struct opc_package {
  opc_package_model_t *models;
  size_t count;
  uint64_t bytes; /* of the file */
} opc_package_t;

/* OPC_ERR_IO: it cannot be read. OPC_ERR_UNSUPPORTED: it is no package. OPC_ERR_INPUT: it is a broken one. All the code
 * in it is compared with its checksum. */
opc_status_t opc_package_read(const char *path, opc_package_t *out, opc_error_t *error) OPC_CHECKED;
/* Writes the model's compiled library to a file of its own, so that it can be looked at. OPC_ERR_NOT_FOUND: the package
 * has none, only source. */
opc_status_t opc_package_unpack_code(const char *path, const char *model, const char *target,
                                     opc_error_t *error) OPC_CHECKED;
void opc_package_clear(opc_package_t *package);

/* Operators are called "package::NAME" by their model's name. */
#define OPC_PACKAGE_NAMESPACE "package"

#ifdef __cplusplus
}
#endif
#endif
