/* A case rule, an entry of a check's table: which cases the check wants for an operator's samples, and why. Data only:
 * each check has a table of them (catalogue/checks.def), and the planner (plan/cases/planner.h) reads them. No
 * libtorch.
 *
 * Fields left out have the usual defaults: on CPU and CUDA, for each sample that the operator accepts, with the
 * sample's own dtype. */
#pragma once

#include "plan/variant/variant.h"

/* Devices of a rule's cases. On the simulated device, rules for it need no values, and those for a GPU run for
 * libraries whose kernels can run there. A check without either has one skipped case there. */
enum { OPC_ON_CPU = 1 << 0, OPC_ON_CUDA = 1 << 1 /* a real GPU */, OPC_ON_SIMULATED = 1 << 2 };
/* The bits of the simulated device. has_ptx: its kernels may run. */
static inline unsigned opc_plan_simulated(bool has_ptx) {
  return has_ptx ? (unsigned)(OPC_ON_SIMULATED | OPC_ON_CUDA) : (unsigned)OPC_ON_SIMULATED;
}

typedef enum opc_case_scope {
  OPC_SCOPE_EACH_SAMPLE = 0,
  OPC_SCOPE_FIRST_SAMPLE,
  OPC_SCOPE_FIRST_FIT,   /* the first sample that meets the conditions and has such a variant */
  OPC_SCOPE_ALL_SAMPLES, /* one case per device about all samples, after all others: `op/check/device/-/-/-` */
  OPC_SCOPE_OPERATOR,    /* one case per operator: `op/check/-/-/-/-` */
  OPC_SCOPE_LIBRARY      /* the same for a library, to which no rule of another scope applies */
} opc_case_scope_t;

/* Samples of a rule's cases. Refused and unchecked samples get only the plain case. */
enum {
  OPC_ACCEPTED = 1 << 0,
  OPC_REFUSED = 1 << 1,      /* the sample expects a rejection */
  OPC_UNCHECKED = 1 << 2,    /* with these arguments the operator goes out of bounds, or crashes (opc_sample_t) */
  OPC_UNINITIALISED = 1 << 3 /* with these arguments its result depends on uninitialised memory (opc_sample_t) */
};

/* Which sizes, for transformations with a size in their name. */
typedef enum opc_size_choice {
  OPC_EVERY_SIZE = 0,
  OPC_LAST_OF_FIRST_TENSOR /* the last size of the first tensor with dimensions */
} opc_size_choice_t;

typedef enum opc_dtype_sweep {
  OPC_SWEEP_OWN = 0,        /* the sample's own: "-" in the id */
  OPC_SWEEP_ALL,            /* all; of float8 only two, unless the sample has float8 */
  OPC_SWEEP_REPRESENTATIVE, /* float64, float32, float16, int64, bool, complex64 */
  OPC_SWEEP_ONE             /* even if the sample has it already */
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

/* Conditions on the operator and the sample; conditions.c evaluates them. */
enum {
  /* on the operator */
  OPC_WHEN_TAKES_TENSOR = 1 << 0,
  OPC_WHEN_RETURNS_TENSOR = 1 << 1,
  OPC_WHEN_RETURNS_OR_WRITES = 1 << 2,
  OPC_WHEN_NOT_BUILT_IN = 1 << 3, /* not one of libtorch's own */
  OPC_WHEN_NO_ALIAS = 1 << 4,     /* its schema has no alias annotation */
  OPC_WHEN_UNWRAPPED = 1 << 5,    /* a fallback can unwrap every argument */
  OPC_WHEN_META_KERNEL = 1 << 6,
  OPC_WHEN_FORMULA = 1 << 7,    /* it has its own derivative formula */
  OPC_WHEN_AUTOGRAD = 1 << 8,   /* it may have a derivative: its own, or through the operators that it is composed of */
  OPC_WHEN_NUMBER = 1 << 22,    /* some argument is a real number: float or Scalar */
  OPC_WHEN_IN_PYTHON = 1 << 18, /* a Python interpreter hosts the worker */
  /* on the sample */
  OPC_WHEN_SAME_BITS = 1 << 9,  /* it promises outputs with the same bits as an argument */
  OPC_WHEN_OUTPUTS = 1 << 10,   /* it promises output values */
  OPC_WHEN_REFERENCE = 1 << 19, /* it names an operator that computes what is right */
  OPC_WHEN_ONE_TENSOR = 1 << 11,
  OPC_WHEN_SEVERAL_TENSORS = 1 << 12,
  OPC_WHEN_MAIN_FLOATING = 1 << 13, /* the dtype that a sweep replaces is floating */
  OPC_WHEN_ALL_FLOATING = 1 << 14,
  OPC_WHEN_ONE_FLOATING = 1 << 24, /* one tensor holds floating numbers */
  OPC_WHEN_SEARCHED = 1 << 17,     /* searched: nobody vouches for it */
  OPC_WHEN_SIZE_ONCE = 1 << 15,    /* no tensor has the size chosen by `size` twice */
  /* on the case; OPC_SCOPE_FIRST_FIT ignores it when looking for a sample that fits */
  OPC_WHEN_DTYPE_CHANGES = 1 << 16,
  OPC_WHEN_INT64 = 1 << 21,     /* some tensor holds int64 numbers */
  OPC_WHEN_SELECTION = 1 << 23, /* some tensor holds integers or flags, and another one floating numbers */
  OPC_WHEN_RELATED = 1 << 20    /* of neighbours: all known relations between the arguments hold */
};

/* What a check requires of the process; applies to all its cases if any rule says so. */
enum {
  OPC_NEEDS_DEVICE_ZONES = 1 << 0, /* CUDA tensors lie between red zones (checks/framework/check.h) on a GPU too; on the
                                      simulated device they do in all checks but those with OPC_NEEDS_CUDA_CACHE */
  OPC_NEEDS_NO_KERNEL = 1 << 1,    /* it also has cases if no kernel serves the device */
  OPC_NEEDS_CUDA_CACHE = 1 << 2    /* CUDA tensors lie in libtorch's own allocator, whose memory or streams it checks */
};

/* What a check's run() reads instead of the variant's name. */
enum {
  OPC_JUDGE_ACCESSES = 1 << 0,      /* out-of-bounds accesses of the call are this check's subject */
  OPC_JUDGE_REFUSAL = 1 << 1,       /* the check itself decides whether a rejection is right */
  OPC_JUDGE_UNLESS_FOUND = 1 << 2,  /* reports nothing new after a finding of the same check */
  OPC_JUDGE_BY_LARGEST = 1 << 3,    /* a difference counts only from a fraction of the largest element on */
  OPC_JUDGE_MOST_ELEMENTS = 1 << 4, /* a difference counts only if most elements differ */
  OPC_JUDGE_OTHER_VALUES = 1 << 6,  /* the check passes values of its own, which nobody vouches for: provenance alone */
  OPC_JUDGE_VALUES = 1 << 7,        /* only values are judged: relations between the arguments, which are learned from
                                       forward calls, do not say what backward takes */
  OPC_JUDGE_CONVERSIONS = 1 << 8,   /* only conversions of floating-point numbers to integers are judged */
  OPC_JUDGE_IF_LAUNCHES = 1 << 5    /* tried only if the unmodified sample shows that the library launches kernels */
};

typedef struct opc_case_rule {
  unsigned devices; /* OPC_ON_…; 0: OPC_ON_CPU | OPC_ON_CUDA */
  opc_case_scope_t scope;
  unsigned samples;  /* OPC_ACCEPTED…; 0: OPC_ACCEPTED */
  unsigned families; /* OPC_VARIANT_… */
  const char *names; /* (optional) glob that the variant's name must match; with !(…), @(…) */
  opc_size_choice_t size;
  opc_dtype_choice_t dtypes;
  const char *const *tags; /* (optional) the operator must have one of these tags; NULL-terminated */
  const char *key;         /* (optional) the operator must have a kernel of its own at this dispatch key */
  unsigned when;           /* OPC_WHEN_…; all must hold */
  unsigned needs;          /* OPC_NEEDS_… */
  int64_t numel_max;       /* limit for the elements of the variant's largest tensor; 0: no limit */
  unsigned judge;          /* OPC_JUDGE_… */
  int neighbours;          /* not 0: at most so many of a sample, and not more than the request allows (planner.h) */
  bool beside;             /* of neighbours: takes nothing from the share of the other rules; for a few */
  const char *why;         /* why these cases are tried: one line, for reports and for a listing of the plan */
} opc_case_rule_t;

/* The rules of a check. At the sample's own dtype, a variant belongs to the first rule that wants it, and variants are
 * tried in the order of variant.def. Then come the rules with other dtypes, in their order. A rule omits every
 * (variant, dtype) that an earlier one already gave for the sample. */
typedef struct opc_case_table {
  const char *check;
  bool calls; /* the check calls the operator */
  bool last;  /* runs after all checks without this flag, as its graphs stay alive */
  const opc_case_rule_t *rules;
  size_t rule_count;
} opc_case_table_t;
