#include "base/conversion.h"

#include <string.h>

/* ---- encodings ---- */

/* The mandatory prefix, as VEX and EVEX number it. */
typedef enum prefix { PREFIX_NONE = 0, PREFIX_66, PREFIX_F3, PREFIX_F2 } prefix_t;
typedef enum encoding { ENCODED_SSE = 1 << 0, ENCODED_VEX = 1 << 1, ENCODED_EVEX = 1 << 2 } encoding_t;
enum { ANY_ENCODING = ENCODED_SSE | ENCODED_VEX | ENCODED_EVEX };
/* Scalar: the destination is a general register, and W gives the width of the integer. */
enum { SCALAR = 0, PACKED };

/* Intel SDM vol. 2, the opcode tables of map 0F. wide: the value of W that the packed forms of EVEX demand. */
typedef struct form {
  const char *name;
  unsigned encodings;
  prefix_t prefix;
  uint8_t opcode, packed, wide;
  bool from_double, truncates, to_unsigned;
  uint8_t bits; /* of PACKED */
} form_t;

static const form_t forms[] = {
    {"cvttss2si", ANY_ENCODING, PREFIX_F3, 0x2c, SCALAR, 0, false, true, false, 0},
    {"cvtss2si", ANY_ENCODING, PREFIX_F3, 0x2d, SCALAR, 0, false, false, false, 0},
    {"cvttsd2si", ANY_ENCODING, PREFIX_F2, 0x2c, SCALAR, 0, true, true, false, 0},
    {"cvtsd2si", ANY_ENCODING, PREFIX_F2, 0x2d, SCALAR, 0, true, false, false, 0},
    {"cvttss2usi", ENCODED_EVEX, PREFIX_F3, 0x78, SCALAR, 0, false, true, true, 0},
    {"cvtss2usi", ENCODED_EVEX, PREFIX_F3, 0x79, SCALAR, 0, false, false, true, 0},
    {"cvttsd2usi", ENCODED_EVEX, PREFIX_F2, 0x78, SCALAR, 0, true, true, true, 0},
    {"cvtsd2usi", ENCODED_EVEX, PREFIX_F2, 0x79, SCALAR, 0, true, false, true, 0},
    {"cvttps2dq", ANY_ENCODING, PREFIX_F3, 0x5b, PACKED, 0, false, true, false, 32},
    {"cvtps2dq", ANY_ENCODING, PREFIX_66, 0x5b, PACKED, 0, false, false, false, 32},
    {"cvttpd2dq", ANY_ENCODING, PREFIX_66, 0xe6, PACKED, 1, true, true, false, 32},
    {"cvtpd2dq", ANY_ENCODING, PREFIX_F2, 0xe6, PACKED, 1, true, false, false, 32},
    {"cvttps2udq", ENCODED_EVEX, PREFIX_NONE, 0x78, PACKED, 0, false, true, true, 32},
    {"cvtps2udq", ENCODED_EVEX, PREFIX_NONE, 0x79, PACKED, 0, false, false, true, 32},
    {"cvttpd2udq", ENCODED_EVEX, PREFIX_NONE, 0x78, PACKED, 1, true, true, true, 32},
    {"cvtpd2udq", ENCODED_EVEX, PREFIX_NONE, 0x79, PACKED, 1, true, false, true, 32},
    {"cvttps2uqq", ENCODED_EVEX, PREFIX_66, 0x78, PACKED, 0, false, true, true, 64},
    {"cvtps2uqq", ENCODED_EVEX, PREFIX_66, 0x79, PACKED, 0, false, false, true, 64},
    {"cvttpd2uqq", ENCODED_EVEX, PREFIX_66, 0x78, PACKED, 1, true, true, true, 64},
    {"cvtpd2uqq", ENCODED_EVEX, PREFIX_66, 0x79, PACKED, 1, true, false, true, 64},
    {"cvttps2qq", ENCODED_EVEX, PREFIX_66, 0x7a, PACKED, 0, false, true, false, 64},
    {"cvtps2qq", ENCODED_EVEX, PREFIX_66, 0x7b, PACKED, 0, false, false, false, 64},
    {"cvttpd2qq", ENCODED_EVEX, PREFIX_66, 0x7a, PACKED, 1, true, true, false, 64},
    {"cvtpd2qq", ENCODED_EVEX, PREFIX_66, 0x7b, PACKED, 1, true, false, false, 64},
};

/* What stands before the opcode. The bits that extend register numbers are 0 or 1, not inverted. */
typedef struct front {
  encoding_t encoding;
  prefix_t prefix;
  uint8_t opcode, wide, reg, index, base; /* W, R, X, B */
  uint8_t reg_high;                       /* R' of EVEX */
  uint8_t vector;                         /* 0: 128 bits, 1: 256, 2: 512 */
  bool broadcast, segment;                /* or, between registers, rounding and no exceptions */
  uint8_t mask;
} front_t;

typedef struct cursor {
  const unsigned char *code;
  size_t size, at;
} cursor_t;

static bool next_byte(cursor_t *cursor, unsigned char *out) {
  if (cursor->at >= cursor->size || cursor->at >= OPC_INSTRUCTION_MOST) return false;
  *out = cursor->code[cursor->at++];
  return true;
}

static unsigned bit_of(unsigned byte, int bit) { return byte >> bit & 1U; }

/* ---- before the opcode ---- */

/* True: it is a prefix, which is noted. F2 and F3 count before 66. */
static bool note_prefix(unsigned char byte, front_t *front) {
  switch (byte) {
    case 0x66:
      if (front->prefix == PREFIX_NONE) front->prefix = PREFIX_66;
      return true;
    case 0xf2:
      front->prefix = PREFIX_F2;
      return true;
    case 0xf3:
      front->prefix = PREFIX_F3;
      return true;
    case 0x64:
    case 0x65:
      front->segment = true;
      return true;
    default: /* these mean nothing in 64-bit code */
      return byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e;
  }
}

static bool read_vex(cursor_t *cursor, unsigned char first, front_t *front) {
  enum { MAP_0F = 1 };
  unsigned char one, two;
  if (!next_byte(cursor, &one)) return false;
  front->encoding = ENCODED_VEX;
  front->reg = !bit_of(one, 7);
  two = one;
  if (first == 0xc4) {
    if ((one & 0x1f) != MAP_0F || !next_byte(cursor, &two)) return false;
    front->index = !bit_of(one, 6);
    front->base = !bit_of(one, 5);
    front->wide = (uint8_t)bit_of(two, 7);
  }
  front->vector = (uint8_t)bit_of(two, 2);
  front->prefix = (prefix_t)(two & 3);
  return next_byte(cursor, &front->opcode);
}

static bool read_evex(cursor_t *cursor, front_t *front) {
  enum { MAP_0F = 1 };
  unsigned char one, two, three;
  if (!next_byte(cursor, &one) || !next_byte(cursor, &two) || !next_byte(cursor, &three)) return false;
  if ((one & 0xf) != MAP_0F || !bit_of(two, 2)) return false;
  front->encoding = ENCODED_EVEX;
  front->reg = !bit_of(one, 7);
  front->index = !bit_of(one, 6);
  front->base = !bit_of(one, 5);
  front->reg_high = !bit_of(one, 4);
  front->wide = (uint8_t)bit_of(two, 7);
  front->prefix = (prefix_t)(two & 3);
  front->vector = three >> 5 & 3;
  front->broadcast = bit_of(three, 4);
  front->mask = three & 7;
  return front->vector < 3 && next_byte(cursor, &front->opcode);
}

static bool read_front(cursor_t *cursor, front_t *front) {
  unsigned char byte;
  *front = (front_t){.encoding = ENCODED_SSE};
  do {
    if (!next_byte(cursor, &byte)) return false;
  } while (note_prefix(byte, front));
  if (byte == 0x62 || byte == 0xc4 || byte == 0xc5)
    return byte == 0x62 ? read_evex(cursor, front) : read_vex(cursor, byte, front);
  if ((byte & 0xf0) == 0x40) { /* REX */
    front->wide = (uint8_t)bit_of(byte, 3);
    front->reg = (uint8_t)bit_of(byte, 2);
    front->index = (uint8_t)bit_of(byte, 1);
    front->base = (uint8_t)bit_of(byte, 0);
    if (!next_byte(cursor, &byte)) return false;
  }
  return byte == 0x0f && next_byte(cursor, &front->opcode);
}

/* ---- after it ---- */

static bool read_displacement(cursor_t *cursor, int bytes, int32_t *out) {
  uint32_t number = 0;
  unsigned char byte;
  for (int i = 0; i < bytes; i++) {
    if (!next_byte(cursor, &byte)) return false;
    number |= (uint32_t)byte << 8 * i;
  }
  *out = bytes == 1 ? (int8_t)number : (int32_t)number;
  return true;
}

static bool read_scaled_index(cursor_t *cursor, const front_t *front, unsigned mode, opc_operand_t *operand) {
  enum { NO_INDEX = 4, NO_BASE = 5 };
  unsigned char byte;
  if (!next_byte(cursor, &byte)) return false;
  const unsigned index = (byte >> 3 & 7U) | (unsigned)front->index << 3, base = byte & 7U;
  operand->scale = (uint8_t)(1U << (byte >> 6));
  if (index != NO_INDEX) operand->index = (int8_t)index;
  if (base != NO_BASE || mode != 0) operand->base = (int8_t)(base | (unsigned)front->base << 3);
  return true;
}

/* The address of an operand in memory. unit: by which AVX-512 multiplies a displacement of one byte. */
static bool read_operand(cursor_t *cursor, const front_t *front, unsigned char modrm, int32_t unit,
                         opc_operand_t *operand) {
  enum { SCALED_INDEX = 4, RELATIVE = 5 };
  const unsigned mode = modrm >> 6, rm = modrm & 7U;
  *operand = (opc_operand_t){.base = OPC_OPERAND_NONE, .index = OPC_OPERAND_NONE, .segment = front->segment};
  int bytes = mode == 1 ? 1 : mode == 2 ? 4 : 0;
  if (rm == SCALED_INDEX) {
    if (!read_scaled_index(cursor, front, mode, operand)) return false;
    if (mode == 0 && operand->base == OPC_OPERAND_NONE) bytes = 4;
  } else if (mode == 0 && rm == RELATIVE) {
    operand->base = OPC_OPERAND_NEXT;
    bytes = 4;
  } else {
    operand->base = (int8_t)(rm | (unsigned)front->base << 3);
  }
  if (!read_displacement(cursor, bytes, &operand->displacement)) return false;
  if (bytes == 1) operand->displacement *= unit;
  return true;
}

static const form_t *find_form(const front_t *front) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    const form_t *form = &forms[i];
    const bool wide_fits = form->packed == SCALAR || front->encoding != ENCODED_EVEX || form->wide == front->wide;
    if (form->opcode == front->opcode && form->prefix == front->prefix && (form->encodings & front->encoding) &&
        wide_fits)
      return form;
  }
  return NULL;
}

/* Each lane has the wider of the two numbers in the vector's width. */
static uint8_t lanes_of(const form_t *form, const front_t *front) {
  const unsigned bytes = 16U << front->vector;
  if (form->packed == SCALAR) return 1;
  return (uint8_t)(bytes / (form->from_double || form->bits == 64 ? 8U : 4U));
}

/* In a signal handler. */
static void put_conversion_name(const char *name, encoding_t encoding, char *out) {
  if (encoding != ENCODED_SSE) *out++ = 'v';
  memcpy(out, name, strlen(name) + 1);
}

bool opc_conversion_decode(const unsigned char *code, size_t size, opc_conversion_t *out) {
  cursor_t cursor = {.code = code, .size = size};
  front_t front;
  unsigned char modrm;
  if (!read_front(&cursor, &front)) return false;
  const form_t *form = find_form(&front);
  if (!form || !next_byte(&cursor, &modrm)) return false;
  const bool in_register = modrm >> 6 == 3;
  if (in_register && front.broadcast && form->packed == PACKED) front.vector = 2; /* with a rounding of its own */
  *out = (opc_conversion_t){.lanes = lanes_of(form, &front),
                            .from_double = form->from_double,
                            .truncates = form->truncates,
                            .to_unsigned = form->to_unsigned,
                            .bits = form->packed == PACKED ? form->bits
                                    : front.wide           ? 64
                                                           : 32,
                            .to_vector = form->packed == PACKED,
                            .to = (uint8_t)((modrm >> 3 & 7U) | (unsigned)front.reg << 3),
                            .from_memory = !in_register,
                            .repeats = !in_register && front.broadcast,
                            .mask = front.mask};
  if (out->to_vector) out->to |= (uint8_t)(front.reg_high << 4);
  put_conversion_name(form->name, front.encoding, out->name);
  if (in_register) {
    out->from = (uint8_t)((modrm & 7U) | (unsigned)front.base << 3);
    if (front.encoding == ENCODED_EVEX) out->from |= (uint8_t)(front.index << 4);
  } else {
    const int32_t number = form->from_double ? 8 : 4;
    const int32_t unit = front.encoding != ENCODED_EVEX ? 1 : out->repeats ? number : number * out->lanes;
    if (!read_operand(&cursor, &front, modrm, unit, &out->operand)) return false;
  }
  out->length = (uint8_t)cursor.at;
  return true;
}

/* ---- numbers ---- */

static const double two_to_31 = 2147483648.0, two_to_32 = 4294967296.0, two_to_63 = 9223372036854775808.0,
                    two_to_64 = 18446744073709551616.0;

/* Rounded to nearest; a number between two integers of which only one fits may be taken for the other. */
bool opc_conversion_fits(const opc_conversion_t *conversion, double number) {
  const bool wide = conversion->bits == 64;
  const double below = conversion->truncates ? 1.0 : 0.5, above = conversion->truncates || wide ? 0.0 : 0.5;
  if (conversion->to_unsigned) return number > -below && number < (wide ? two_to_64 : two_to_32) - above;
  if (wide) return number >= -two_to_63 && number < two_to_63;
  return number > -two_to_31 - below && number < two_to_31 - above;
}

static uint64_t largest_integer(const opc_conversion_t *conversion) {
  return (conversion->bits == 64 ? UINT64_MAX : UINT32_MAX) >> !conversion->to_unsigned;
}

uint64_t opc_conversion_indefinite(const opc_conversion_t *conversion) {
  return conversion->to_unsigned ? largest_integer(conversion) : largest_integer(conversion) + 1;
}

uint64_t opc_conversion_other(const opc_conversion_t *conversion, double number) {
  enum { NEXT = 4096 }; /* another number as a double, too */
  if (!(number < 0) && !(number > 0)) return 0;
  if (conversion->to_unsigned) return number < 0 ? 0 : largest_integer(conversion) - NEXT;
  return number < 0 ? opc_conversion_indefinite(conversion) + NEXT : largest_integer(conversion);
}

const char *opc_conversion_type(const opc_conversion_t *conversion) {
  static const char *const types[2][2] = {{"int32", "int64"}, {"uint32", "uint64"}};
  return types[conversion->to_unsigned][conversion->bits == 64];
}

/* ---- what compilers make of a conversion to an unsigned type ---- */

/* sar REG, 63, or psrad REG, 31, in any encoding: the sign in every bit. */
static bool is_spread_sign(const unsigned char *code, size_t size, bool vector) {
  if (size < 3) return false;
  if (vector) return code[0] == 0x72 && (code[1] >> 3 & 7) == 4 && code[1] >> 6 == 3 && code[2] == 31;
  return code[0] == 0xc1 && (code[1] >> 3 & 7) == 7 && code[1] >> 6 == 3 && code[2] == 63;
}

bool opc_conversion_is_of_unsigned(const opc_conversion_t *conversion, double number, const opc_code_window_t *window) {
  const bool wide = conversion->bits == 64;
  const double from = wide ? two_to_63 : two_to_31, to = wide ? two_to_64 : two_to_32;
  bool second = false, sign = false;
  if (conversion->to_unsigned || !(number >= from && number < to) || wide == conversion->to_vector) return false;
  for (size_t at = 0; at < window->size && !(second && sign); at++) {
    const unsigned char *code = window->code + at;
    opc_conversion_t other;
    sign = sign || is_spread_sign(code, window->size - at, conversion->to_vector);
    if (second || (at >= window->at && at < window->at + conversion->length)) continue;
    second = opc_conversion_decode(code, window->size - at, &other) && other.bits == conversion->bits &&
             other.from_double == conversion->from_double && other.to_vector == conversion->to_vector &&
             at + other.length != window->at + conversion->length;
  }
  return second && sign;
}

/* ---- code that looks for the integer of a number that does not fit ---- */

/* cmp REG, 0x80000000 */
static bool is_comparison(const unsigned char *code, size_t size) {
  static const unsigned char smallest[] = {0, 0, 0, 0x80};
  const size_t before = size > 0 && code[0] == 0x3d ? 1 : 2;
  if (size < before + sizeof smallest) return false;
  return (before == 1 || (code[0] == 0x81 && code[1] >= 0xf8)) && memcmp(code + before, smallest, sizeof smallest) == 0;
}

/* pcmpeqd, after the first bytes of the encoding of SSE or AVX. */
static bool is_comparison_of_vectors(const unsigned char *code, size_t size) {
  enum { OPCODE = 0x76 };
  if (size < 4) return false;
  if (code[0] == 0x66) return (code[1] == 0x0f && code[2] == OPCODE) || (code[2] == 0x0f && code[3] == OPCODE);
  if (code[0] == 0xc5) return (code[1] & 3) == PREFIX_66 && code[2] == OPCODE;
  return code[0] == 0xc4 && (code[1] & 0x1f) == 1 && (code[2] & 3) == PREFIX_66 && code[3] == OPCODE;
}

bool opc_conversion_is_tested(const opc_conversion_t *conversion, const opc_code_window_t *window) {
  enum { SOON = 32, SOON_IN_VECTORS = 96 }; /* bytes; a loop of vectors may be unrolled */
  const size_t start = window->at + conversion->length;
  const size_t most = start + (conversion->to_vector ? SOON_IN_VECTORS : SOON);
  if (conversion->bits != 32 || conversion->to_unsigned) return false;
  for (size_t at = start; at < window->size && at < most; at++) {
    const unsigned char *code = window->code + at;
    const size_t size = window->size - at;
    if (conversion->to_vector ? is_comparison_of_vectors(code, size) : is_comparison(code, size)) return true;
  }
  return false;
}
