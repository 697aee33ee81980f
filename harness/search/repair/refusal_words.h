/* Words that an error message names as values of a string argument.
 *
 * Ownership: nothing is kept. Threads: any. */
#pragma once

#include <stddef.h>

typedef void opc_refusal_word_t(const char *word, size_t length, void *context);

/* Words in quotes, then those in a list of choices ("must be either add or multiply"). A word may come twice. */
void opc_refusal_words(const char *message, opc_refusal_word_t *use, void *context);
