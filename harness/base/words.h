/* Text for people. No verdict may depend on its words: tests/scrambled builds programs in which they are others. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Every message and phrase passes here where it is made. Does nothing, but with OPC_SCRAMBLE_WORDS it replaces each
 * letter by another one: the length and what is not ASCII stay. Text of libtorch that is still to be read
 * (bridge/api/torch_texts.def) does not pass. NULL is accepted. */
void opc_words_out(char *text);

#ifdef __cplusplus
}
#endif
