/* The case rules of every check. A new check adds an array `NAME_cases` here. Each rule says in one line why its cases
 * are tried: reports show it as "tried because: …". */
#include "catalogue/case_rules.h"

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

static const opc_case_rule_t registration_cases[] = {
    {.scope = OPC_SCOPE_OPERATOR, .why = "registrations can be checked without a call"}};

static const opc_case_rule_t architecture_cases[] = {
    {.scope = OPC_SCOPE_OPERATOR, .why = "the GPU code in a library's file can be checked without a call"}};

static const opc_case_rule_t memory_cases[] = {
    {.devices = EVERYWHERE,
     .samples = OPC_ACCEPTED | OPC_UNCHECKED,
     .families = PLAIN,
     .needs = OPC_NEEDS_DEVICE_ZONES,
     .judge = OPC_JUDGE_ACCESSES,
     .why = AS_IT_IS},
    {.devices = EVERYWHERE,
     .families = LAYOUT,
     .judge = OPC_JUDGE_ACCESSES,
     .why = "a kernel that ignores strides or offsets accesses memory outside its tensors"},
    {.devices = EVERYWHERE,
     .families = EMPTY,
     .judge = OPC_JUDGE_ACCESSES,
     .why = "a kernel that expects at least one element accesses an empty tensor out of bounds"},
    {.devices = EVERYWHERE,
     .families = SPECIAL,
     .judge = OPC_JUDGE_ACCESSES | OPC_JUDGE_UNLESS_FOUND,
     .why = "an index that is computed from NaN, infinity or an extreme value can point anywhere"},
    {.devices = EVERYWHERE,
     .families = SAME,
     .judge = OPC_JUDGE_ACCESSES,
     .why = "a tensor that is passed twice may be freed or resized twice"},
    {.devices = EVERYWHERE,
     .families = SHAPE,
     .judge = OPC_JUDGE_ACCESSES,
     .why = "0-dim tensors, sizes of 1, shorter and longer lists and larger tensors take other branches of a kernel"},
    {.devices = OPC_ON_CUDA,
     .families = SIZES,
     .judge = OPC_JUDGE_ACCESSES,
     .why = "a kernel needs a bounds check for sizes that are not a multiple of its block"},
    {.devices = OPC_ON_CPU,
     .families = SIZES | OPC_VARIANT_SURVEY,
     .when = OPC_WHEN_SEARCHED,
     .judge = OPC_JUDGE_ACCESSES,
     .why = "if inputs of all sizes cause an access out of bounds, the arguments are not the cause"},
    {.families = OTHER_CALL | SIZES, .judge = OPC_JUDGE_ACCESSES, .neighbours = NEIGHBOURS, .why = NEXT_TO_IT},
    {.families = OPC_VARIANT_CONTENTS, .judge = OPC_JUDGE_ACCESSES, .neighbours = NEIGHBOURS, .why = OTHER_NUMBERS},
    {.devices = EVERYWHERE,
     .families = PLAIN,
     .dtypes = OPC_REPRESENTATIVE_DTYPES,
     .judge = OPC_JUDGE_ACCESSES,
     .why = OTHER_DTYPES}};

static const opc_case_rule_t device_cases[] = {
    {.devices = EVERYWHERE, .families = PLAIN, .why = AS_IT_IS},
    {.devices = OPC_ON_CUDA,
     .families = OPC_VARIANT_ALL & ~CAST,
     .why = "the CUDA kernel may differ from the CPU kernel for each variant"},
    {.devices = OPC_ON_CUDA,
     .families = PLAIN,
     .dtypes = OPC_REPRESENTATIVE_DTYPES,
     .why = "the CUDA kernel may differ from the CPU kernel for each dtype"}};

static const opc_case_rule_t dtype_cases[] = {
    {.families = PLAIN, .dtypes = OPC_ALL_DTYPES, .why = "each dtype is compared with a wider one"},
    {.families = OTHER_CALL,
     .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_FLOAT32),
     .when = OPC_WHEN_MAIN_FLOATING,
     .neighbours = NEIGHBOURS,
     .why = NEXT_TO_IT},
    {.families = OTHER_CALL,
     .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_FLOAT16),
     .when = OPC_WHEN_MAIN_FLOATING,
     .neighbours = NEIGHBOURS,
     .why = NEXT_TO_IT},
    {.families = OPC_VARIANT_CONTENTS,
     .names = "*.zero*",
     .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_FLOAT16),
     .when = OPC_WHEN_MAIN_FLOATING,
     .neighbours = 4,
     .why = "what is added to a divisor so that it is not zero may itself be zero in a narrow dtype"},
    {.families = OPC_VARIANT_CONTENTS,
     .names = "*.times_64",
     .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_FLOAT16),
     .when = OPC_WHEN_MAIN_FLOATING,
     .neighbours = 2,
     .why = "a product that is kept in a narrow dtype overflows"},
    {.scope = OPC_SCOPE_FIRST_SAMPLE,
     .families = SHAPE,
     .names = "all.larger",
     .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_FLOAT32),
     .when = OPC_WHEN_MAIN_FLOATING,
     .numel_max = 4096, /* each element is compared */
     .judge = OPC_JUDGE_BY_LARGEST,
     .why = "kernels have separate code for whole vectors and tiles of float32, which small tensors do not fill"},
    /* With indices as well, a longer sample would add up many numbers at few places; libtorch's own operators lose
     * precision there too. */
    {.scope = OPC_SCOPE_FIRST_FIT,
     .families = LONG,
     .size = OPC_LAST_OF_FIRST_TENSOR,
     .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_BFLOAT16),
     .when = OPC_WHEN_ALL_FLOATING | OPC_WHEN_SIZE_ONCE | OPC_WHEN_DTYPE_CHANGES,
     .judge = OPC_JUDGE_MOST_ELEMENTS,
     .why = "a sum that is kept in a narrow dtype loses precision visibly only in long rows"}};

static const opc_case_rule_t empty_cases[] = {{.families = EMPTY, .why = "kernels forget that a dimension may be 0"}};

static const opc_case_rule_t stride_cases[] = {
    {.families = LAYOUT | BITS, .why = "the same values in another layout must give the same result"},
    {.families = OPC_VARIANT_LARGER_LAYOUT,
     .when = OPC_WHEN_RELATED,
     .numel_max = 32768, /* four dimensions of a sample make a million elements */
     .neighbours = 2,
     .beside = true,
     .why = "code for whole vectors may ignore strides, and small tensors do not reach it"}};

static const opc_case_rule_t alias_cases[] = {
    {.families = PLAIN, .when = OPC_WHEN_RETURNS_TENSOR, .why = AS_IT_IS},
    {.families = LAYOUT | BITS,
     .when = OPC_WHEN_RETURNS_TENSOR,
     .why = "an operator may copy in one layout and return its argument in another"},
    {.families = EMPTY | SAME | SHAPE,
     .when = OPC_WHEN_RETURNS_TENSOR,
     .why = "an operator may return its argument where there is nothing to do"},
    {.families = OTHER_CALL, .when = OPC_WHEN_RETURNS_TENSOR, .neighbours = NEIGHBOURS, .why = NEXT_TO_IT},
    {.families = PLAIN,
     .dtypes = OPC_REPRESENTATIVE_DTYPES,
     .when = OPC_WHEN_RETURNS_TENSOR,
     .why = "an operator may convert one dtype and return its argument in another"},
    {.scope = OPC_SCOPE_ALL_SAMPLES, .why = "only all calls together show whether a declared alias ever happens"}};

static const opc_case_rule_t mutation_cases[] = {
    {.families = PLAIN, .when = OPC_WHEN_TAKES_TENSOR, .why = AS_IT_IS},
    {.families = LAYOUT | BITS,
     .when = OPC_WHEN_TAKES_TENSOR,
     .why = "an operator may write its argument in one layout and a copy in another"},
    {.families = EMPTY | SPECIAL | SAME | SHAPE,
     .when = OPC_WHEN_TAKES_TENSOR,
     .why = "an operator may use an argument's memory as scratch space, or write it only in some branches"},
    {.families = OTHER_CALL_OR_VALUES, .when = OPC_WHEN_TAKES_TENSOR, .neighbours = NEIGHBOURS, .why = NEXT_TO_IT},
    {.families = PLAIN,
     .dtypes = OPC_REPRESENTATIVE_DTYPES,
     .when = OPC_WHEN_TAKES_TENSOR,
     .why = "an operator may write its argument in one dtype and a converted copy in another"},
    {.scope = OPC_SCOPE_ALL_SAMPLES,
     .why = "only all calls together show whether a declared mutable argument is ever written"}};

static const opc_case_rule_t meta_cases[] = {
    {.families = PLAIN, .why = AS_IT_IS},
    {.families = LAYOUT | BITS, .why = "an output's strides often depend on an input's strides"},
    {.families = EMPTY | SAME | SHAPE, .why = "a Meta kernel computes sizes, and these are special"},
    {.families = OTHER_CALL | SIZES, .neighbours = NEIGHBOURS, .why = NEXT_TO_IT},
    {.families = OPC_VARIANT_EQUIVALENT,
     .names = "*.from_end",
     .neighbours = 4,
     .beside = true,
     .why = "both kernels must count a negative dimension in the same way"},
    {.families = CAST, .why = "both kernels must promote arguments of different dtypes in the same way"},
    {.families = PLAIN, .dtypes = OPC_ALL_DTYPES, .why = "both kernels must choose an output's dtype in the same way"}};

static const opc_case_rule_t initialisation_cases[] = {
    {.samples = OPC_ACCEPTED | OPC_UNINITIALISED,
     .families = PLAIN | SHAPE | SIZES,
     .when = OPC_WHEN_RETURNS_OR_WRITES,
     .needs = OPC_NEEDS_DEVICE_ZONES,
     .why = "elements that a kernel skips at the edges of a shape stay uninitialised"},
    /* A kernel that leaves elements unwritten with one tensor of a layout also does so with all of them. */
    {.families = LAYOUT | SPECIAL,
     .names = "all.*",
     .when = OPC_WHEN_RETURNS_OR_WRITES,
     .why = "a kernel may skip elements for one layout or value"},
    {.families = LAYOUT | SPECIAL,
     .when = OPC_WHEN_RETURNS_OR_WRITES | OPC_WHEN_ONE_TENSOR,
     .why = "a kernel may skip elements for one layout or value"},
    {.families = OTHER_CALL | SIZES, .when = OPC_WHEN_RETURNS_OR_WRITES, .neighbours = NEIGHBOURS, .why = NEXT_TO_IT},
    {.families = OPC_VARIANT_CONTENTS,
     .when = OPC_WHEN_RETURNS_OR_WRITES,
     .neighbours = NEIGHBOURS,
     .why = OTHER_NUMBERS},
    {.families = PLAIN, .dtypes = OPC_ALL_DTYPES, .when = OPC_WHEN_RETURNS_OR_WRITES, .why = OTHER_DTYPES}};

static const opc_case_rule_t leak_cases[] = {
    {.samples = OPC_ACCEPTED | OPC_REFUSED, .families = PLAIN, .why = AS_IT_IS},
    {.families = EMPTY, .why = "a call that refuses a size may leak"},
    {.scope = OPC_SCOPE_FIRST_SAMPLE,
     .families = SHAPE,
     .names = "all.larger",
     .why = "an operator may keep something for larger tensors only"},
    {.families = OPC_VARIANT_CONTENTS,
     .names = "*.negated",
     .neighbours = 2,
     .beside = true,
     .why = "a call that refuses a number may leak"},
    {.families = PLAIN, .dtypes = OPC_REPRESENTATIVE_DTYPES, .why = "a call that refuses a dtype may leak"}};

static const opc_case_rule_t determinism_cases[] = {
    {.families = PLAIN, .why = AS_IT_IS},
    {.families = OTHER_CALL, .when = OPC_WHEN_RELATED, .neighbours = NEIGHBOURS, .why = NEXT_TO_IT},
    {.families = PLAIN, .dtypes = OPC_REPRESENTATIVE_DTYPES, .why = OTHER_DTYPES},
    {.scope = OPC_SCOPE_ALL_SAMPLES,
     .why = "no result may depend on the order of the samples, on threads or on settings"}};

static const opc_case_rule_t defaults_cases[] = {
    {.scope = OPC_SCOPE_ALL_SAMPLES,
     .judge = OPC_JUDGE_OTHER_VALUES,
     .why = "only all samples together show whether a default is ever accepted"}};

static const opc_case_rule_t state_cases[] = {
    {.samples = OPC_ACCEPTED | OPC_REFUSED, .families = PLAIN, .why = AS_IT_IS},
    {.families = EMPTY, .why = "a kernel may forget to restore state before it refuses a size"},
    {.families = SHAPE,
     .names = "*.scalar",
     .why = "a kernel may forget to restore state before it refuses a tensor without dimensions"},
    {.families = SHAPE,
     .names = "all.larger",
     .why = "code for larger tensors may set the number of threads, or the mode of the vector units"},
    {.families = SPECIAL, .names = "*.nan", .why = "a kernel may turn warnings about NaN off, and leave them off"},
    {.families = OTHER_CALL_OR_VALUES, .neighbours = 8, .beside = true, .why = NEXT_TO_IT},
    {.families = PLAIN,
     .dtypes = OPC_REPRESENTATIVE_DTYPES,
     .why = "a kernel may forget to restore state before it refuses a dtype"}};

static const opc_case_rule_t bitwise_cases[] = {
    {.families = PLAIN | EMPTY | LAYOUT | BITS | SPECIAL | SAME | SHAPE,
     .when = OPC_WHEN_SAME_BITS,
     .why = "the sample promises bits, and its variants must have them too"},
    {.families = PLAIN, .when = OPC_WHEN_OUTPUTS, .why = "the sample states the outputs"},
    {.families = PLAIN,
     .dtypes = OPC_ALL_DTYPES,
     .when = OPC_WHEN_SAME_BITS,
     .why = "the sample promises bits, and every dtype must have them"},
    {.families = PLAIN,
     .dtypes = OPC_ALL_DTYPES,
     .when = OPC_WHEN_OUTPUTS,
     .why = "the sample states the outputs for its own dtype"}};

static const opc_case_rule_t reference_cases[] = {
    {.families = PLAIN | EMPTY | LAYOUT | BITS | SPECIAL | SAME | SHAPE | SIZES | LONG | OPC_VARIANT_CONTENTS |
                 OPC_VARIANT_EQUIVALENT,
     .when = OPC_WHEN_REFERENCE,
     .why = "another operator is said to compute what is right"},
    {.families = OTHER_CALL, .when = OPC_WHEN_REFERENCE, .neighbours = NEIGHBOURS, .why = NEXT_TO_IT},
    {.families = PLAIN, .dtypes = OPC_ALL_DTYPES, .when = OPC_WHEN_REFERENCE, .why = OTHER_DTYPES},
    {.families = OPC_VARIANT_CONTENTS,
     .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_FLOAT16),
     .when = OPC_WHEN_REFERENCE | OPC_WHEN_MAIN_FLOATING,
     .neighbours = NEIGHBOURS,
     .why = "a narrow dtype has neither large squares nor small constants"},
    {.families = SIZES | LONG,
     .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_BFLOAT16),
     .when = OPC_WHEN_REFERENCE | OPC_WHEN_MAIN_FLOATING,
     .neighbours = NEIGHBOURS,
     .why = "a count or a sum that is kept in a narrow dtype stops growing"}};

static const opc_case_rule_t equivalent_cases[] = {
    {.devices = OPC_ON_CPU,
     .families = PLAIN,
     .when = OPC_WHEN_INT64,
     .judge = OPC_JUDGE_OTHER_VALUES,
     .why = "a kernel may read 32 bits of int64 numbers, of a tensor or a Scalar, or tokens behind a length"},
    {.devices = OPC_ON_CPU,
     .scope = OPC_SCOPE_FIRST_SAMPLE,
     .families = PLAIN,
     .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_INT64),
     .when = OPC_WHEN_MAIN_FLOATING,
     .judge = OPC_JUDGE_OTHER_VALUES,
     .why = "a kernel for floating numbers that also takes int64 may compute those in a floating dtype"},
    {.families = OPC_VARIANT_EQUIVALENT,
     .names = "*.from_end",
     .when = OPC_WHEN_TAKES_TENSOR,
     .why = "a dimension that is counted from the end is the same dimension"},
    {.families = OPC_VARIANT_EQUIVALENT,
     .names = "*.other_width",
     .when = OPC_WHEN_TAKES_TENSOR,
     .why = "an integer is the same number in 32 and in 64 bits"},
    {.families = OPC_VARIANT_EQUIVALENT,
     .names = "*.other_float",
     .when = OPC_WHEN_TAKES_TENSOR,
     .why = "a kernel that takes the bytes of one dtype for another one computes with other numbers"},
    {.devices = OPC_ON_CPU,
     .families = PLAIN,
     .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_FLOAT64),
     .when = OPC_WHEN_TAKES_TENSOR | OPC_WHEN_NUMBER | OPC_WHEN_MAIN_FLOATING,
     .why = "a float argument has 64 bits, and a kernel may keep 32 of them"},
    {.devices = OPC_ON_CPU,
     .families = SHAPE,
     .names = "all.larger",
     .when = OPC_WHEN_TAKES_TENSOR | OPC_WHEN_RETURNS_OR_WRITES,
     .judge = OPC_JUDGE_OTHER_VALUES,
     .numel_max = 4096, /* each element is compared */
     .why = "code for what a whole vector or tile leaves over may compute something else"},
    {.devices = OPC_ON_CPU,
     .families = SIZES,
     .when = OPC_WHEN_TAKES_TENSOR | OPC_WHEN_RETURNS_OR_WRITES,
     .judge = OPC_JUDGE_OTHER_VALUES,
     .numel_max = 4096,
     .why = "code for what a whole vector or tile leaves over may compute something else"},
    {.devices = OPC_ON_CPU,
     .families = SPECIAL,
     .names = "all.nan",
     .when = OPC_WHEN_SELECTION | OPC_WHEN_RETURNS_OR_WRITES,
     .judge = OPC_JUDGE_OTHER_VALUES,
     .numel_max = 128, /* each element is changed */
     .why = LEFT_OUT},
    {.devices = OPC_ON_CPU,
     .families = SPECIAL,
     .names = "*.nan",
     .when = OPC_WHEN_SELECTION | OPC_WHEN_ONE_FLOATING | OPC_WHEN_RETURNS_OR_WRITES,
     .judge = OPC_JUDGE_OTHER_VALUES,
     .numel_max = 128,
     .why = LEFT_OUT}};

static const char *const promising_tags[] = {
#define OPC_TAG_PROMISE(tag, function) tag,
#include "catalogue/promises.def"
#undef OPC_TAG_PROMISE
    NULL};

static const opc_case_rule_t tags_cases[] = {
    {.families = PLAIN,
     .tags = promising_tags,
     .why = "the operator has a tag that promises something about each call"},
    {.families = PLAIN,
     .when = OPC_WHEN_META_KERNEL,
     .why = "without a tag that says so, no shape of an operator with a Meta kernel may depend on values"},
    {.scope = OPC_SCOPE_ALL_SAMPLES, .why = "only all calls together show what some tags promise"}};

static const opc_case_rule_t functionalisation_cases[] = {
    /* The fallback refuses operators with alias annotations; its rule reports that already. */
    {.families = PLAIN,
     .when = OPC_WHEN_NOT_BUILT_IN | OPC_WHEN_NO_ALIAS | OPC_WHEN_UNWRAPPED,
     .needs = OPC_NEEDS_NO_KERNEL,
     .why = "torch.compile calls the operator under functionalisation"},
    {.scope = OPC_SCOPE_ALL_SAMPLES, .why = "the schema shows whether torch.compile can replace what is written"}};

static const opc_case_rule_t vmap_cases[] = {
    {.devices = OPC_ON_CPU,
     .families = PLAIN,
     .key = "FuncTorchBatched",
     .when = OPC_WHEN_NOT_BUILT_IN | OPC_WHEN_TAKES_TENSOR | OPC_WHEN_RETURNS_TENSOR | OPC_WHEN_NO_ALIAS,
     .why = "torch.vmap calls the operator's rule in place of its kernel"},
    {.devices = OPC_ON_CPU,
     .families = OPC_VARIANT_EQUIVALENT,
     .names = "*.from_end",
     .key = "FuncTorchBatched",
     .when = OPC_WHEN_NOT_BUILT_IN | OPC_WHEN_TAKES_TENSOR | OPC_WHEN_RETURNS_TENSOR | OPC_WHEN_NO_ALIAS,
     .neighbours = 4,
     .beside = true,
     .why = "a rule for torch.vmap counts one dimension more, and may count a negative one wrong"},
    {.devices = OPC_ON_CPU,
     .families = OPC_VARIANT_NEIGHBOUR,
     .key = "FuncTorchBatched",
     .when = OPC_WHEN_NOT_BUILT_IN | OPC_WHEN_TAKES_TENSOR | OPC_WHEN_RETURNS_TENSOR | OPC_WHEN_NO_ALIAS,
     .neighbours = 8,
     .beside = true,
     .why = NEXT_TO_IT}};

static const opc_case_rule_t autocast_cases[] = {
    {.devices = OPC_ON_CPU,
     .families = PLAIN,
     .key = "AutocastCPU",
     .when = OPC_WHEN_NOT_BUILT_IN | OPC_WHEN_TAKES_TENSOR | OPC_WHEN_RETURNS_TENSOR | OPC_WHEN_NO_ALIAS,
     .why = "under torch.autocast the operator's autocast kernel runs before its kernel"},
    {.devices = OPC_ON_CPU,
     .families = OPC_VARIANT_NEIGHBOUR,
     .key = "AutocastCPU",
     .when = OPC_WHEN_NOT_BUILT_IN | OPC_WHEN_TAKES_TENSOR | OPC_WHEN_RETURNS_TENSOR | OPC_WHEN_NO_ALIAS,
     .neighbours = 8,
     .beside = true,
     .why = NEXT_TO_IT}};

static const opc_case_rule_t symbolic_cases[] = {
    {.families = PLAIN, .why = "torch.compile gives a Meta kernel symbols in place of this sample's sizes"}};

static const opc_case_rule_t fake_cases[] = {{.devices = OPC_ON_CPU,
                                              .families = PLAIN,
                                              .when = OPC_WHEN_IN_PYTHON | OPC_WHEN_TAKES_TENSOR,
                                              .why = "torch.compile traces this call with FakeTensors"},
                                             {.devices = OPC_ON_CPU,
                                              .families = OPC_VARIANT_NEIGHBOUR,
                                              .when = OPC_WHEN_IN_PYTHON | OPC_WHEN_TAKES_TENSOR,
                                              .neighbours = 6,
                                              .beside = true,
                                              .why = NEXT_TO_IT}};

static const opc_case_rule_t launch_cases[] = {
    {.devices = CUDA_CALLS, .families = PLAIN, .why = AS_IT_IS},
    {.devices = CUDA_CALLS, .families = LAYOUT, .why = "each layout may have its own kernel"},
    {.devices = CUDA_CALLS,
     .families = EMPTY,
     .why = "an empty tensor needs no blocks, and a launch of no blocks fails"},
    {.devices = CUDA_CALLS,
     .families = SHAPE | SIZES,
     .why = "the number of blocks depends on sizes, and a remainder needs one more block"},
    {.devices = CUDA_CALLS,
     .families = LARGE,
     .judge = OPC_JUDGE_IF_LAUNCHES,
     .why = "a launch cannot have more than 65,535 blocks in y or z, and an int cannot count 2^31 elements"},
    {.devices = CUDA_CALLS, .families = PLAIN, .dtypes = OPC_REPRESENTATIVE_DTYPES, .why = OTHER_DTYPES}};

static const opc_case_rule_t stream_cases[] = {
    {.devices = CUDA_CALLS, .families = PLAIN, .why = AS_IT_IS},
    {.devices = CUDA_CALLS,
     .families = EMPTY | LAYOUT,
     .why = "a copy for another layout, or an early return, may use another stream"}};

static const opc_case_rule_t device_guard_cases[] = {
    {.devices = CUDA_CALLS, .families = PLAIN, .why = AS_IT_IS},
    {.devices = CUDA_CALLS,
     .families = EMPTY | LAYOUT,
     .why = "a copy for another layout, or an early return, may miss the device guard"}};

static const opc_case_rule_t sync_cases[] = {
    {.devices = CUDA_CALLS, .families = PLAIN, .why = AS_IT_IS},
    {.devices = CUDA_CALLS,
     .families = EMPTY | LAYOUT,
     .why = "a copy for another layout, or an early return, may wait for the device"}};

static const opc_case_rule_t capture_cases[] = {
    {.devices = CUDA_CALLS, .families = PLAIN, .why = AS_IT_IS},
    {.devices = CUDA_CALLS,
     .families = EMPTY | LAYOUT,
     .why = "a copy for another layout, or an early return, may call what a capture does not allow"}};

static const opc_case_rule_t device_memory_cases[] = {{.devices = CUDA_CALLS, .families = PLAIN, .why = AS_IT_IS}};

static const opc_case_rule_t autograd_cases[] = {
    {.families = PLAIN, .why = AS_IT_IS},
    /* One case of empty inputs, only if some derivative may be registered: an empty tensor may already crash the
     * forward call, which ends the case. */
    {.families = EMPTY,
     .names = "all.empty0",
     .when = OPC_WHEN_AUTOGRAD | OPC_WHEN_SEVERAL_TENSORS,
     .why = "a backward that divides by a size, or reads a first element, fails on empty inputs"},
    {.families = EMPTY,
     .names = "*.empty0",
     .when = OPC_WHEN_AUTOGRAD | OPC_WHEN_ONE_TENSOR,
     .why = "a backward that divides by a size, or reads a first element, fails on an empty input"},
    /* Slopes take hundreds of calls. Ties make kinks. Relations are learned from forward calls: they do not know of an
     * index that only backward uses. */
    {.families = OPC_VARIANT_NEIGHBOUR, .when = OPC_WHEN_AUTOGRAD, .neighbours = 8, .why = NEXT_TO_IT},
    {.families = OPC_VARIANT_EQUIVALENT,
     .names = "*.from_end",
     .when = OPC_WHEN_AUTOGRAD,
     .neighbours = 2,
     .beside = true,
     .why = "a derivative may count a negative dimension wrong"},
    {.families = OPC_VARIANT_CONTENTS,
     .names = "*.highest",
     .when = OPC_WHEN_AUTOGRAD,
     .neighbours = 2,
     .beside = true,
     .why = "where an index repeats, a derivative has a sum"},
    {.families = OPC_VARIANT_CONTENTS,
     .names = "*_false",
     .when = OPC_WHEN_AUTOGRAD,
     .neighbours = 2,
     .beside = true,
     .why = "what a mask leaves out has no gradient, and a mask that leaves out everything has no mean"},
    {.families = OPC_VARIANT_CONTENTS,
     .names = "*.negated",
     .when = OPC_WHEN_AUTOGRAD,
     .neighbours = 4,
     .why = NEXT_TO_IT},
    {.families = OPC_VARIANT_ONE_ZERO,
     .when = OPC_WHEN_AUTOGRAD,
     .neighbours = 2,
     .why = "a derivative that divides by its input is not a number where that is zero"},
    {.families = SIZES | OPC_VARIANT_OTHER_SHAPE,
     .when = OPC_WHEN_AUTOGRAD | OPC_WHEN_ALL_FLOATING,
     .neighbours = 4,
     .why = NEXT_TO_IT},
    {.families = SIZES | OPC_VARIANT_OTHER_SHAPE,
     .when = OPC_WHEN_AUTOGRAD | OPC_WHEN_RELATED,
     .judge = OPC_JUDGE_VALUES,
     .neighbours = 2,
     .beside = true,
     .why = "a derivative may be that of the first row, or of the first of a batch"},
    {.scope = OPC_SCOPE_FIRST_SAMPLE,
     .families = OPC_VARIANT_SURVEY,
     .names = "all.five_times",
     .when = OPC_WHEN_AUTOGRAD | OPC_WHEN_ALL_FLOATING,
     .numel_max = 1024,
     .neighbours = 1,
     .beside = true,
     .why = "code for more rows, or for whole vectors, may have another derivative"},
    {.scope = OPC_SCOPE_FIRST_SAMPLE,
     .families = PLAIN,
     .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_COMPLEX64),
     .when = OPC_WHEN_FORMULA | OPC_WHEN_DTYPE_CHANGES,
     .why = "a formula that is right for real numbers often lacks a conjugate"}};

static const opc_case_rule_t package_cases[] = {
    {.devices = EVERYWHERE,
     .families = PLAIN,
     .why = "a package is compiled for the inputs that it was exported with"}};

static const opc_case_rule_t class_cases[] = {
    {.samples = OPC_ACCEPTED | OPC_REFUSED | OPC_UNCHECKED | OPC_UNINITIALISED,
     .families = PLAIN,
     .judge = OPC_JUDGE_REFUSAL,
     .why = "this is the object as its constructor makes it"},
    {.families = OPC_VARIANT_METHOD,
     .judge = OPC_JUDGE_ACCESSES,
     .why = "each method has its own case, so that a crash does not affect the others"},
    {.families = OPC_VARIANT_USED, .why = "changes that methods made to the object must be pickled too"}};

const opc_case_table_t opc_case_tables[] = {
#define OPC_CHECK_ROW(calls, kinds, name, summary) \
  {#name, calls, OPC_THIS_STAGE_IS_LAST, name##_cases, sizeof name##_cases / sizeof *name##_cases},
#include "catalogue/checks_in_order.def"
};
