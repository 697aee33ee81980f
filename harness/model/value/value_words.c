#include "model/value/value_read.h"

const char *const opc_fill_words[] = {
    [OPC_FILL_NORMAL] = "normal", [OPC_FILL_UNIFORM] = "uniform", [OPC_FILL_ARANGE] = "arange",
    [OPC_FILL_ZEROS] = "zeros",   [OPC_FILL_ONES] = "ones",       [OPC_FILL_FULL] = "full",
    [OPC_FILL_RANGE] = "range",   [OPC_FILL_VALUES] = "values",   [OPC_FILL_FILE] = "file",
    [OPC_FILL_FILE + 1] = NULL,
};

const char *const opc_special_words[] = {
    [OPC_SPECIAL_NONE] = "",
    [OPC_SPECIAL_NAN] = "nan",
    [OPC_SPECIAL_NEGATIVE_ZERO] = "negative_zero",
    [OPC_SPECIAL_INFINITY] = "infinity",
    [OPC_SPECIAL_DENORMAL] = "denormal",
    [OPC_SPECIAL_EXTREME] = "extreme",
    [OPC_SPECIAL_ZERO] = "zero",
    [OPC_SPECIAL_ONES] = "ones",
    [OPC_SPECIAL_NEGATED] = "negated",
    [OPC_SPECIAL_TIES] = "ties",
    [OPC_SPECIAL_EIGHTHS] = "eighths",
    [OPC_SPECIAL_TIMES_64] = "times_64",
    [OPC_SPECIAL_OVER_64] = "over_64",
    [OPC_SPECIAL_GRADED] = "graded",
    [OPC_SPECIAL_ONE_ZERO] = "one_zero",
    [OPC_SPECIAL_ZERO_ROW] = "zero_row",
    [OPC_SPECIAL_LAST_NAN] = "last_nan",
    [OPC_SPECIAL_LAST_NAN + 1] = NULL,
};
