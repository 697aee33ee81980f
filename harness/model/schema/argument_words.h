/* What the name of an argument says about its values.
 *
 * Ownership: texts are constant. Threads: any. */
#pragma once

#include <stdbool.h>

/* True if one of the space-separated words is a whole part of the name, between underscores: "height" of
 * "pooled_height". Upper and lower case are the same. */
bool opc_argument_is_named(const char *name, const char *words);
/* The words that a str argument of this name usually takes, separated by '|': "mean|sum|none". NULL: not known. */
const char *opc_argument_words(const char *name);
