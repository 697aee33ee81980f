/* Lines of a journal for the tests of problems: findings with evidence. */
#ifndef OPC_TESTS_PROBLEM_LINES_H
#define OPC_TESTS_PROBLEM_LINES_H

#include "report_journal.h"

#define HEAD \
  RUN_LINE LIBRARY_LINE("d/libops.so") OPERATOR_LINE("n::a", "d/libops.so") OPERATOR_LINE("n::b", "d/libops.so")

/* A finding with a frame in the operator's library, after a frame in libtorch's headers. */
#define FRAME(module, symbol, file, line)                                                             \
  "{\"module\":\"/p/" module "\",\"offset\":\"0x10\",\"symbol\":\"" symbol "\",\"file\":\"/src/" file \
  "\",\"line\":" line "}"
#define FRAMES(symbol, file, line)                                                                                   \
  "\"frames\":[" FRAME("libtorch_cpu.so", "memcpy", "m.cpp", "9") "," FRAME(                                         \
      "libops.so", "at::TensorAccessor<float>::at()", "x/ATen/TensorAccessor.h", "7") "," FRAME("libops.so", symbol, \
                                                                                                file, line) "]"
#define LINE(op, check, rest, verdict, severity, rule, provenance, evidence)                                  \
  "{\"t\":\"result\",\"operator\":\"" op "\",\"check\":\"" check "\",\"case\":\"" op "/" check "/" rest       \
  "\",\"verdict\":\"" verdict "\",\"severity\":\"" severity "\",\"rule\":\"" rule "\",\"message\":\"at " rest \
  "\",\"standing\":" provenance ",\"evidence\":{" evidence "},\"repro\":\"run " rest "\",\"seconds\":0}\n"
#define FOUND(op, check, rest, rule, evidence) LINE(op, check, rest, "fail", "error", rule, "null", evidence)

#endif
