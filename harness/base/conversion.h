/* The instructions of x86-64 that convert floating-point numbers to integers: cvttss2si and its relatives, in the
 * encodings of SSE, AVX (VEX) and AVX-512 (EVEX).
 *
 * Pure functions of bytes, on any machine; async-signal-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPC_CONVERSION_LANES = 16, OPC_INSTRUCTION_MOST = 15 /* bytes */ };

/* "[base + index * scale + displacement]". Registers have their number in the encoding (0: rax, 1: rcx…). */
typedef struct opc_operand {
  int8_t base, index; /* -1: none; OPC_OPERAND_NEXT: the address of the next instruction */
  uint8_t scale;
  int32_t displacement;
  bool segment; /* fs or gs is added: the address is not known */
} opc_operand_t;
enum { OPC_OPERAND_NONE = -1, OPC_OPERAND_NEXT = -2 };

typedef struct opc_conversion {
  char name[16];  /* "vcvttps2dq" */
  uint8_t length; /* of the instruction, in bytes */
  uint8_t lanes;  /* numbers that it converts */
  bool from_double, truncates;
  bool to_unsigned;
  uint8_t bits;     /* of each integer: 32 or 64 */
  bool to_vector;   /* the destination is a vector register, otherwise a general one */
  uint8_t to;       /* its number */
  bool from_memory; /* the numbers are at `operand`, otherwise in vector register `from` */
  bool repeats;     /* one number in memory for all lanes */
  uint8_t from;     /* number of a vector register */
  uint8_t mask;     /* number of the mask register that says which lanes are converted; 0: all are */
  opc_operand_t operand;
} opc_conversion_t;

/* False: there is no such instruction at `code`, of which `size` bytes can be read. */
bool opc_conversion_decode(const unsigned char *code, size_t size, opc_conversion_t *out);

/* The number fits in the integer that the instruction makes of it. */
bool opc_conversion_fits(const opc_conversion_t *conversion, double number);
/* For a number that does not fit: what the instruction gives for every such number. */
uint64_t opc_conversion_indefinite(const opc_conversion_t *conversion);
/* For a number that does not fit: another integer that an operator must not care about either, if it drops the
 * integer, or limits it afterwards. That of ARM and CUDA, the nearest integer, or 0 for NaN; where it is that of the
 * instruction, one next to it. */
uint64_t opc_conversion_other(const opc_conversion_t *conversion, double number);
/* "int32", "uint64" */
const char *opc_conversion_type(const opc_conversion_t *conversion);

/* Code around an instruction, which can be read. */
typedef struct opc_code_window {
  const unsigned char *code;
  size_t size, at; /* at: where the instruction begins */
} opc_code_window_t;
/* The conversion may be part of what a compiler makes of a conversion to an unsigned type of the same width, for which
 * SSE and AVX have no instruction: it converts the number, and the number less 2^63 (2^31), and takes the sign of the
 * first result to combine the two. */
bool opc_conversion_is_of_unsigned(const opc_conversion_t *conversion, double number, const opc_code_window_t *window);
/* The code after the conversion compares with the integer of a number that does not fit: it knows what the instruction
 * gives. Only of int32. */
bool opc_conversion_is_tested(const opc_conversion_t *conversion, const opc_code_window_t *window);
