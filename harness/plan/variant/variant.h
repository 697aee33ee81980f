/* Variants: transformations of a sample's arguments, each with a name that is part of the case id.
 *
 * VARIANT is "plain" or `argument.transformation[+argument.transformation…]`. An argument is a path ("x",
 * "tensors[1]"), or "all" for every tensor at once. Transformations change only descriptions (model/value/value.h),
 * never tensors. A variant depends only on (sample, name): opc_variant_apply can build any variant again from its
 * name. */
#pragma once

#include "model/case/case.h"
#include "model/sample/relations.h"

/* Families of variants; can be combined. */
enum {
  OPC_VARIANT_PLAIN = 1 << 0,
  OPC_VARIANT_EMPTY = 1 << 1, /* x.empty0, x.empty1…: a dimension becomes 0; all.empty0; lists: x.no_items */
  OPC_VARIANT_LAYOUT =
      1 << 2, /* transposed, permuted, channels_last, sliced (gaps), offset, expanded0… (stride 0), size1_strides,
                 misaligned, sliced+offset; each argument alone, and all together: all.transposed, all.sliced… */
  OPC_VARIANT_BITS = 1 << 3,    /* conj (complex), neg (floating, complex) */
  OPC_VARIANT_SPECIAL = 1 << 4, /* nan, negative_zero, infinity, denormal (floating, complex), extreme (all but bool) */
  OPC_VARIANT_SAME = 1 << 5,    /* x.same_as_y: the same tensor twice, if shape and dtype allow */
  OPC_VARIANT_SHAPE = 1 << 6,   /* scalar (0-dim), lists: x.one_item, all.one_item; larger (all tensors together: every
                                   dimension except 1 becomes three times as large, or large enough that the longest
                                   exceeds a tile of 64 or 32, if that is cheap) */
  OPC_VARIANT_CAST = 1 << 7,    /* x.float64…: a single tensor gets another dtype of its class */
  OPC_VARIANT_SIZES = 1 << 8, /* leaves a remainder for loops with steps of two or eight: uneven (every even size of all
                                 tensors plus one), longer7 (every 7 becomes 8) */
  OPC_VARIANT_ALL = (1 << 9) - 1,
  OPC_VARIANT_LONG =
      1 << 10, /* not in ALL, and each only if it is cheap. Every dimension of 7 becomes all.long7: a thousand or more;
                  all.wide7: 257 or a little more, or fewer, and with it the integers that may be as large */
  OPC_VARIANT_LARGE = 1 << 9 /* not in ALL, for memory of gigabytes that nobody may touch: all.rows7 (every dimension of
                                7 becomes 65,536), all.huge7 and all.vast7 (every 7 becomes so large that a tensor has
                                more than 2^31, or 2^32, elements) */
  ,
  OPC_VARIANT_METHOD = 1 << 11,   /* custom class: calls one of its methods, forward.called */
  OPC_VARIANT_USED = 1 << 12,     /* custom class: pickled after calls of its methods, used */
  OPC_VARIANT_CONTENTS = 1 << 14, /* not in ALL; other numbers. Floating ones: zero (every third), ones, negated, ties,
                                     eighths, times_64, over_64, graded, zero_row. Integers: zeros, highest, reversed,
                                     largest, all_bits, of offsets first_empty and last_empty, of lengths one_none. Of
                                     bool: all_false, all_true, some_false, row_false */
  OPC_VARIANT_NEIGHBOUR =
      1 << 15, /* not in ALL; another call that a user may make: flag.flipped, bias.left_out, k.set-1, mode.word_mean,
                 bias.like_x and bias.row4 (an optional tensor that the sample does not give) */
  OPC_VARIANT_OTHER_SHAPE = 1 << 16, /* not in ALL; all.fewer10: every 10 becomes 5; all.second: a batch of one becomes
                                  a batch of two; all.unsqueezed, all.squeezed: a first dimension of 1 more, or less */
  OPC_VARIANT_EQUIVALENT = 1 << 17,  /* not in ALL; another way to write the same call: dim.from_end (1 of 3 dimensions
                                        becomes -2), index.other_width (int64 becomes int32, and the reverse),
                                        weight.other_float (float32 becomes float64 beside another one) */
  OPC_VARIANT_ONE_ZERO = 1 << 18, /* not in ALL; x.one_zero: a single zero makes no ties, which are kinks of a slope */
  OPC_VARIANT_LARGER_LAYOUT =
      1 << 19, /* not in ALL; all.larger_sliced, all.larger_transposed: every dimension except 1 becomes eight times as
                  large, so that whole vectors fit, and then the layout changes; all.odd_strides7: every 7 becomes 1,
                  with a stride that no layout has */
  OPC_VARIANT_DEEP = 1 << 20, /* not in ALL; all.deep: tensors of two to four dimensions get first ones of 2 up to five;
                                 all.deep_permuted: and then the layout changes */
  OPC_VARIANT_SURVEY =
      1 << 13 /* not in ALL; tests whether a finding shows on every accepted input: all.zero_integers (every integer
                 tensor holds zeros), all.twice, all.five_times, all.eight_times (every dimension except 1) */
};

/* What a variant leaves unchanged. */
enum {
  OPC_KEEPS_VALUES = 1 << 0, /* of every element, as far as its dtype can represent it */
  OPC_KEEPS_SIZES = 1 << 1,
  OPC_KEEPS_EQUAL_SIZES = 1 << 2, /* equal sizes stay equal, and no size becomes smaller */
  OPC_KEEPS_DTYPES = 1 << 3,
  OPC_KEEPS_ALL = (1 << 4) - 1
};

/* Which arguments a variant changes. */
typedef enum opc_variant_changed {
  OPC_CHANGED_NOTHING = 0,
  OPC_CHANGED_ONE, /* a single argument, or one tensor in it */
  OPC_CHANGED_ALL  /* every tensor that the transformation applies to */
} opc_variant_changed_t;

typedef struct opc_variant_facts {
  unsigned families; /* OPC_VARIANT_… of all its steps; 0: no variant has this name */
  unsigned keeps;    /* OPC_KEEPS_…: what all its steps keep */
  opc_variant_changed_t changed;
} opc_variant_facts_t;

/* Called once per variant, in a fixed order (simplest first). The callee may only read the sample. Return false to
 * stop. */
typedef bool opc_variant_emit_t(const char *name, const opc_sample_t *sample, void *context);

/* Enumerates the variants of the given families that apply to the sample. Omits variants that equal the sample (a 1-D
 * tensor has no transposed variant). */
opc_status_t opc_variants_of(const opc_sample_t *sample, const opc_operator_t *op, unsigned families,
                             opc_variant_emit_t *emit, void *context, opc_error_t *error) OPC_CHECKED;
/* Builds one variant by name; OPC_ERR_NOT_FOUND: the name does not apply to this sample. */
opc_status_t opc_variant_apply(const opc_sample_t *sample, const opc_operator_t *op, const char *name,
                               opc_sample_t *out, opc_error_t *error) OPC_CHECKED;
/* The family of a variant name (an OPC_VARIANT_ bit); for combinations, of the last step; 0: unknown. */
unsigned opc_variant_family(const char *name);
/* True for variants that no plan enumerates: they are only built by name. */
bool opc_variant_is_by_name(const char *name);
opc_variant_facts_t opc_variant_facts(const char *name);

/* Casts every floating tensor of the sample to the dtype (every tensor if none is floating); leaves dtype arguments
 * unchanged. Complex, integral and bool dtypes are possible. If the sample has both float8 and wider floating tensors,
 * a float8 dtype applies to the float8 ones, any other to the wider ones. Fills keep their logical values as far as the
 * dtype can represent them. False: nothing would change, or there is no tensor to change. */
bool opc_sample_cast(opc_sample_t *sample, opc_dtype_t dtype);
/* The dtype that opc_sample_cast would replace; OPC_DTYPE_OTHER: none. */
opc_dtype_t opc_sample_main_dtype(const opc_sample_t *sample);

/* How far a variant departs from its sample: whether the sample's source also covers the variant.
 *
 * No libtorch. Cheap: compares descriptions, and the values of small integer tensors. */

/* varied: the base with the variant, and with the case's dtype if it has one. Out of memory: ALONE. */
opc_input_change_t opc_variant_change(const opc_sample_t *base, const opc_operator_t *op, const opc_sample_t *varied,
                                      const char *variant);

/* True if some tensor has another number of dimensions, other than 0. Relations name dimensions by number, so they say
 * nothing about it. */
bool opc_variant_has_other_dimensions(const opc_sample_t *base, const opc_sample_t *varied);

/* True if integer arguments (not tensors) equal the base's: no relation has changed them. */
bool opc_variant_keeps_integers(const opc_sample_t *base, const opc_sample_t *varied);

/* Variants that preserve the known relations between a sample's arguments: sizes that must agree change together, and
 * integers that depend on a size change with it.
 *
 * Ownership: samples are the caller's, changed in place. False: impossible or out of memory; the sample may then be
 * partly changed. No libtorch. */

/* Changes the size of a place, and nothing else. */
bool opc_related_resize(opc_sample_t *sample, const opc_operator_t *op, const opc_size_place_t *place, int64_t size);
/* Fills an integer tensor with these values. */
bool opc_related_fill(opc_tensor_spec_t *spec, const int64_t *values, size_t count);
/* Adapts the integers of resized tensors to those of the base (ascending ones keep first and last), and to the
 * relations: none exceeds its bound, sums are kept. */
bool opc_related_contents(opc_sample_t *changed, const opc_sample_t *base, const opc_operator_t *op,
                          const opc_relations_t *relations);
/* Some sizes in `changed` differ from the base's: adapts the sizes that relations tie to them, then the integers. Also
 * false if the relations do not hold in the end. */
bool opc_related_fit(opc_sample_t *changed, const opc_sample_t *base, const opc_operator_t *op);
/* True if the arguments of the two differ. */
bool opc_related_differs(const opc_sample_t *left, const opc_sample_t *right, const opc_operator_t *op);

/* Lists the tensors of a sample, at any depth, and gives them other sizes: the only place that resizes samples.
 *
 * Ownership: the list of tensors borrows the sample's values and owns its paths; opc_variant_tensors_clear. */

/* A tensor of a sample. */
typedef struct opc_variant_tensor {
  char *path; /* "x", "tensors[1]" */
  opc_value_t *value;
  size_t argument;
  bool written; /* by its schema, the operator writes this tensor */
  bool shared;  /* another tensor (not its twin) has the same storage */
  size_t twin;  /* index of the first tensor with the same identity (itself if none): twins are one tensor and change
                   together */
} opc_variant_tensor_t;

typedef struct opc_variant_tensors {
  opc_variant_tensor_t *items;
  size_t count;
  bool failed; /* out of memory */
} opc_variant_tensors_t;

/* op may be NULL: then no tensor counts as written. */
opc_status_t opc_variant_tensors_collect(opc_sample_t *sample, const opc_operator_t *op, opc_variant_tensors_t *out,
                                         opc_error_t *error) OPC_CHECKED;
void opc_variant_tensors_clear(opc_variant_tensors_t *tensors);
/* NULL: no tensor at this path. */
opc_variant_tensor_t *opc_variant_tensors_find(const opc_variant_tensors_t *tensors, const char *path);
/* After a change to the first of several twins, makes the others the same tensor again. False: out of memory. */
bool opc_variant_twins_follow(const opc_variant_tensors_t *tensors);

/* True if the dimension gets another size. `number` is the tensor's index in the sample. */
typedef bool opc_resize_where_t(const opc_variant_tensor_t *tensor, size_t number, int dim, void *context);
opc_resize_where_t opc_resize_where_size; /* true for dimensions of one size; context: int64_t * */

typedef enum opc_resize_values {
  OPC_RESIZE_REPEAT = 0, /* explicit values repeat, so that valid ones (an index) stay valid. A tensor with values from
                            a file can only become empty */
  OPC_RESIZE_FORGET,     /* zeros; otherwise like REPEAT */
  OPC_RESIZE_GIVEN       /* the caller supplies the values with the call; changed tensors become contiguous */
} opc_resize_values_t;

typedef struct opc_resize {
  opc_resize_where_t *where;
  void *context;
  int64_t factor, add; /* new size: size * factor + add */
  opc_resize_values_t values;
  int64_t size_max, numel_max, bytes_max; /* limits for every tensor, changed or not; 0: no limit */
  bool sharing;                           /* also changes tensors that share their storage with others */
  bool measures;                          /* only measures, changes nothing */
} opc_resize_t;

typedef struct opc_resized {
  size_t changed;           /* number of changed tensors; twins count once */
  int64_t longest, largest; /* the longest dimension; elements of the largest tensor (INT64_MAX: too many) */
} opc_resized_t;

/* False: these tensors cannot be resized like this. Some may have changed already: discard the sample. Twins are not
 * updated. */
bool opc_tensors_resize(const opc_variant_tensors_t *tensors, const opc_resize_t *resize, opc_resized_t *out);
/* The same for a sample; updates twins. *out_possible: the result of opc_tensors_resize. */
opc_status_t opc_sample_resize(opc_sample_t *sample, const opc_resize_t *resize, opc_resized_t *out, bool *out_possible,
                               opc_error_t *error) OPC_CHECKED;

/* Gives a tensor other sizes: contiguous if it was, otherwise with its strides, which grow where elements that had a
 * place of their own would come to share one. Adapts the fill (explicit values repeat). False: a fill from a file
 * cannot be adapted. */
bool opc_variant_resize(opc_tensor_spec_t *spec, int ndim, const int64_t *sizes);
