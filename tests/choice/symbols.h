#ifndef OPC_TESTS_CHOICE_SYMBOLS_H
#define OPC_TESTS_CHOICE_SYMBOLS_H

#define DEFINE(symbol)                                      \
  __attribute__((visibility("default"))) void symbol(void); \
  void symbol(void) {}

#define NEED(symbol)        \
  extern void symbol(void); \
  void (*need##symbol)(void) = symbol;

#endif
