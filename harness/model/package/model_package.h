/* Reads the metadata of an AOTInductor package (.pt2) from the file, without loading any of it. No libtorch.
 *
 * A package is a zip file with one folder data/aotinductor/NAME/ per model. The folder holds the compiled library,
 * metadata (device, processor, instruction set), a list of the operators that it calls by name, and its source, which
 * has the shapes and dtypes of the inputs. If the package also holds the exported program (torch.export.pt2_archive's
 * package_pt2), data/sample_inputs/NAME.pt holds the example inputs of the export. Ownership: opc_package_clear.
 * Threads: one. Source: torch/export/pt2_archive/constants.py, torch/csrc/inductor/aoti_package. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct opc_package_model {
  char *name;             /* "model" by default */
  char device[16];        /* "cpu", "cuda"; here and below "": unknown */
  char machine[32];       /* "x86_64" */
  char platform[32];      /* "linux" */
  char instructions[128]; /* "AVX512 AVX512_VNNI" */
  char capability[16];    /* of a CUDA device, "90" */
  bool kernels; /* has its own CUDA kernels, which run only on devices of that capability; also true if the source does
                   not say */
  char libraries[256]; /* operator libraries; given only if the export put them into the metadata */
  json_t *calls;       /* object: operator "ns::op.overload" -> array of argument names */
  json_t *classes;     /* object: "ns.Name" -> true */
  json_t *inputs; /* array of VALUEs of the sample format, one per input of the model; NULL: the package does not say */
  bool example;   /* inputs have the values of the export's example; only in packages with the exported program */
  size_t outputs; /* 0: the package does not say */
} opc_package_model_t;

typedef struct opc_package {
  opc_package_model_t *models;
  size_t count;
  uint64_t bytes; /* file size */
} opc_package_t;

/* OPC_ERR_IO: unreadable. OPC_ERR_UNSUPPORTED: not a package. OPC_ERR_INPUT: a damaged one. Verifies the checksums of
 * all code in it. */
opc_status_t opc_package_read(const char *path, opc_package_t *out, opc_error_t *error) OPC_CHECKED;
/* Writes the model's compiled library to a separate file, so that it can be inspected. OPC_ERR_NOT_FOUND: the package
 * has only source. */
opc_status_t opc_package_unpack_code(const char *path, const char *model, const char *target,
                                     opc_error_t *error) OPC_CHECKED;
void opc_package_clear(opc_package_t *package);

/* Operators are named "package::NAME" after their model. */
#define OPC_PACKAGE_NAMESPACE "package"

/* The inputs that a compiled model expects, from the source that AOTInductor generated for it: it checks each input's
 * dtype, sizes and strides.
 *
 * Ownership: the array is the caller's. Source: torch/_inductor/codegen/cpp_wrapper_cpu.py, codegen_input_*_asserts. */

/* *out_inputs: VALUEs of the sample format, one per input; NULL: the source is incomplete. A dynamic size is set to 3
 * if allowed, so that no dimension is empty or 1. *out_outputs: 0: the source does not say. */
void opc_model_inputs_read(const char *source, json_t **out_inputs, size_t *out_outputs);
