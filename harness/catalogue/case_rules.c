/* The case rules of every check, and names for values that several of them have. Each rule says in one line why its
 * cases are tried: reports show it as "tried because: …". */
#include "catalogue/rules.h"

enum {
  PLAIN = OPC_VARIANT_PLAIN,
  EMPTY = OPC_VARIANT_EMPTY,
  LAYOUT = OPC_VARIANT_LAYOUT,
  BITS = OPC_VARIANT_BITS,
  SPECIAL = OPC_VARIANT_SPECIAL,
  SAME = OPC_VARIANT_SAME,
  SHAPE = OPC_VARIANT_SHAPE,
  CAST = OPC_VARIANT_CAST,
  SIZES = OPC_VARIANT_SIZES,
  LONG = OPC_VARIANT_LONG,
  LARGE = OPC_VARIANT_LARGE,
  EVERYWHERE = OPC_ON_CPU | OPC_ON_CUDA | OPC_ON_SIMULATED,
  CUDA_CALLS = OPC_ON_CUDA | OPC_ON_SIMULATED,
  OTHER_CALL = OPC_VARIANT_NEIGHBOUR | OPC_VARIANT_OTHER_SHAPE,
  NEIGHBOURS = 64, /* of one sample under one check */
  OTHER_CALL_OR_VALUES = OPC_VARIANT_NEIGHBOUR | OPC_VARIANT_OTHER_SHAPE | OPC_VARIANT_CONTENTS | OPC_VARIANT_SIZES
};

#define AS_IT_IS "this is the unmodified sample"
#define OTHER_DTYPES "a kernel has separate code for each dtype"
#define OTHER_NUMBERS "a kernel takes other branches for zeros, equal numbers, and other magnitudes"
#define LEFT_OUT "what a mask, a length or an index leaves out must not count, whatever it holds"
#define NEXT_TO_IT "a similar call takes other branches: another flag, mode, number, size or optional argument"

static const char *const promising_tags[] = {
#define OPC_TAG_PROMISE(tag, function) tag,
#include "catalogue/promises.def"
#undef OPC_TAG_PROMISE
    NULL};

#define OPC_CASES(check, ...) static const opc_case_rule_t check##_cases[] = {__VA_ARGS__};
#include "catalogue/checks.def"

const opc_case_table_t opc_case_tables[] = {
#define OPC_CHECK(stage, kinds, name, summary)                                                                \
  {#name, OPC_STAGE_##stage != OPC_STAGE_NO_CALL, OPC_STAGE_##stage == OPC_STAGE_LEAVES_GRAPHS, name##_cases, \
   sizeof name##_cases / sizeof *name##_cases},
#include "catalogue/checks.def"
};
