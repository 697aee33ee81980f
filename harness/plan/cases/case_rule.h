/* A row of a check's table of cases: which cases the check wants of an operator's samples, and why. Data only: the
 * tables are in checks/catalogue/case_rules.c, the planner (plan/cases/planner.h) reads them. No libtorch.
 *
 * Every field that is left out is the usual answer: on the CPU and on CUDA, for each sample that the operator accepts,
 * with the sample's own dtype.
 */
#ifndef OPC_PLAN_CASES_CASE_RULE_H
#define OPC_PLAN_CASES_CASE_RULE_H

#include "base/dtype.h"
#include "plan/variant/variant.h"

/* Where a row has cases. On the simulated device a check without such a row has one case, which says that it needs
 * kernels that run. */
enum { OPC_ON_CPU = 1 << 0, OPC_ON_CUDA = 1 << 1 /* a real one */, OPC_ON_SIMULATED = 1 << 2 };

typedef enum opc_case_scope {
  OPC_SCOPE_EACH_SAMPLE = 0,
  OPC_SCOPE_FIRST_SAMPLE,
  OPC_SCOPE_FIRST_FIT,   /* the first sample that meets the conditions and has such a variant */
  OPC_SCOPE_ALL_SAMPLES, /* one case of a device about all samples, after all others: `op/check/device/-/-/-` */
  OPC_SCOPE_OPERATOR     /* one case of the operator alone: `op/check/-/-/-/-` */
} opc_case_scope_t;

/* Of which samples a row has cases. Of those that are refused or unchecked there is the plain case only. */
enum {
  OPC_ACCEPTED = 1 << 0,
  OPC_REFUSED = 1 << 1,      /* the sample is there to be refused */
  OPC_UNCHECKED = 1 << 2,    /* the operator leaves its tensors with these arguments, or crashes (opc_sample_t) */
  OPC_UNINITIALISED = 1 << 3 /* its result depends on uninitialised memory with these arguments (opc_sample_t) */
};

/* Sizes of a transformation that has one in its name. */
typedef enum opc_size_choice {
  OPC_EVERY_SIZE = 0,
  OPC_LAST_OF_FIRST_TENSOR /* the last size of the first tensor that has dimensions */
} opc_size_choice_t;

typedef enum opc_dtype_sweep {
  OPC_SWEEP_OWN = 0,        /* the sample's: "-" in the id */
  OPC_SWEEP_ALL,            /* of float8 two, and all where the sample holds some */
  OPC_SWEEP_REPRESENTATIVE, /* float64, float16, int64, bool, complex64 */
  OPC_SWEEP_ONE             /* also where the sample has it already */
} opc_dtype_sweep_t;

typedef struct opc_dtype_choice {
  opc_dtype_sweep_t sweep;
  opc_dtype_t one;
} opc_dtype_choice_t;
#define OPC_ALL_DTYPES \
  { OPC_SWEEP_ALL, OPC_DTYPE_OTHER }
#define OPC_REPRESENTATIVE_DTYPES \
  { OPC_SWEEP_REPRESENTATIVE, OPC_DTYPE_OTHER }
#define OPC_ONE_DTYPE(dtype) \
  { OPC_SWEEP_ONE, dtype }

/* What must hold of the operator and the sample; conditions.c says how each is found out. */
enum {
  /* of the operator */
  OPC_WHEN_TAKES_TENSOR = 1 << 0,
  OPC_WHEN_RETURNS_TENSOR = 1 << 1,
  OPC_WHEN_RETURNS_OR_WRITES = 1 << 2,
  OPC_WHEN_NOT_BUILT_IN = 1 << 3, /* it is not libtorch's own */
  OPC_WHEN_NO_ALIAS = 1 << 4,     /* its schema has no alias annotation */
  OPC_WHEN_UNWRAPPED = 1 << 5,    /* a fallback can unwrap each of its arguments */
  OPC_WHEN_META_KERNEL = 1 << 6,
  OPC_WHEN_FORMULA = 1 << 7,  /* a derivative of its own */
  OPC_WHEN_AUTOGRAD = 1 << 8, /* a derivative may come from somewhere: its own, or those of what it is composed of */
  /* of the sample */
  OPC_WHEN_SAME_BITS = 1 << 9, /* it promises that outputs have an argument's bits */
  OPC_WHEN_OUTPUTS = 1 << 10,  /* it promises outputs */
  OPC_WHEN_ONE_TENSOR = 1 << 11,
  OPC_WHEN_SEVERAL_TENSORS = 1 << 12,
  OPC_WHEN_MAIN_FLOATING = 1 << 13, /* the dtype that a sweep replaces is floating */
  OPC_WHEN_ALL_FLOATING = 1 << 14,
  OPC_WHEN_SEARCHED = 1 << 17,  /* nobody vouches for it */
  OPC_WHEN_SIZE_ONCE = 1 << 15, /* no tensor has the size twice that `size` chooses */
  /* of the case; a sample that fits (OPC_SCOPE_FIRST_FIT) fits without it, too */
  OPC_WHEN_DTYPE_CHANGES = 1 << 16
};

/* What a check needs of the process, for all of its cases if a row says so. */
enum {
  OPC_NEEDS_DEVICE_ZONES =
      1 << 0, /* tensors on a CUDA device lie between red zones (checks/framework/device_zones_use.h) */
  OPC_NEEDS_NO_KERNEL = 1 << 1 /* it has its cases where no kernel serves the device, too */
};

/* What a check's run() reads in place of a variant's name. */
enum {
  OPC_JUDGE_ACCESSES = 1 << 0,      /* memory that the call touches out of bounds is this check's subject */
  OPC_JUDGE_REFUSAL = 1 << 1,       /* the check itself says whether a sample's refusal is right */
  OPC_JUDGE_UNLESS_FOUND = 1 << 2,  /* nothing new after a finding of the same check */
  OPC_JUDGE_BY_LARGEST = 1 << 3,    /* a difference counts from a part of the largest element on */
  OPC_JUDGE_MOST_ELEMENTS = 1 << 4, /* a difference counts in most of the elements only */
  OPC_JUDGE_IF_LAUNCHES = 1 << 5    /* tried where the base sample shows that the library launches kernels */
};

typedef struct opc_case_rule {
  unsigned devices; /* OPC_ON_…; 0: OPC_ON_CPU | OPC_ON_CUDA */
  opc_case_scope_t scope;
  unsigned samples;  /* OPC_ACCEPTED…; 0: OPC_ACCEPTED */
  unsigned families; /* OPC_VARIANT_… */
  const char *names; /* (optional) glob that the variant's name has to match */
  opc_size_choice_t size;
  opc_dtype_choice_t dtypes;
  const char *const *tags; /* (optional) the operator has one of them; NULL ends the list */
  unsigned when;           /* OPC_WHEN_…, all must hold */
  unsigned needs;          /* OPC_NEEDS_… */
  int64_t numel_max;       /* elements of the largest tensor of the variant; 0: no limit */
  unsigned judge;          /* OPC_JUDGE_… */
  const char *why;         /* one line, for reports and for a listing of the plan: why these cases are tried */
} opc_case_rule_t;

/* The rows of a check. Of the rows for a sample's own dtype a variant belongs to the first that wants it, and the
 * variants are tried in the order of variant.def; the rows with other dtypes follow in their order. A row gives no
 * (variant, dtype) that an earlier one gave for the sample. */
typedef struct opc_case_table {
  const char *check;
  bool calls; /* the check calls the operator */
  bool last;  /* it leaves graphs behind: it runs after all that do not */
  const opc_case_rule_t *rules;
  size_t rule_count;
} opc_case_table_t;

#endif
