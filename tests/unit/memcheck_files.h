/* Shortened output of Valgrind 3.19 for a small program: two cases of one process, in XML and in the log. */
#ifndef OPC_TESTS_MEMCHECK_FILES_H
#define OPC_TESTS_MEMCHECK_FILES_H

#define FRAME(ip, obj, fn) \
  "    <frame>\n      <ip>" ip "</ip>\n      <obj>" obj "</obj>\n      <fn>" fn "</fn>\n    </frame>\n"
#define STACK(frames) "  <stack>\n" frames "  </stack>\n"
#define PRELOAD "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so"
#define MESSAGE(text) "<clientmsg>\n  <tid>1</tid>\n  <text>" text "\n  </text>\n</clientmsg>\n"

#define XML_HEAD                                                                                             \
  "<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n<protocolversion>4</protocolversion>\n<pid>1475</pid>\n\n" \
  "<status>\n  <state>RUNNING</state>\n  <time>00:00:00:00.042 </time>\n</status>\n\n"

/* A read right past the end of argument x, which was announced; the function is inlined: two frames, one address. */
#define XML_READ \
  MESSAGE("opcheck-c case 1") MESSAGE("opcheck-c tensor 0x4a43000 64 x")                                                            \
  "<error>\n  <unique>0x0</unique>\n  <tid>1</tid>\n  <kind>InvalidRead</kind>\n  <what>Invalid read of size 4</what>\n"             \
  STACK(FRAME("0x1093F7", "/lib/libops.so", "look") FRAME("0x1093F7", "/lib/libops.so", "sum") FRAME("0x109902", "/lib/libops.so", "op")) \
  "  <auxwhat>Address 0x4a43040 is 4,160 bytes inside a block of size 8,256 alloc'd</auxwhat>\n"                                    \
  STACK(FRAME("0x4846990", PRELOAD, "memalign") FRAME("0x10986C", "/bin/worker", "opc_red_zone_allocate"))                           \
  "</error>\n\n"

/* A heap block freed by the wrong function, and a branch on an uninitialised value. */
#define XML_SECOND            \
  MESSAGE("opcheck-c case 2") \
  "<error>\n  <unique>0x1</unique>\n  <tid>1</tid>\n  <kind>MismatchedFree</kind>\n  <what>Mismatched free() / " \
  "delete / delete []</what>\n" \
  STACK(FRAME("0x4846000", PRELOAD, "operator delete(void*)") FRAME("0x109500", "/lib/libops.so", "op"))                             \
  "  <auxwhat>Address 0x4a50000 is 0 bytes inside a block of size 64 alloc'd</auxwhat>\n"                                           \
  STACK(FRAME("0x4846100", PRELOAD, "operator new[](unsigned long)") FRAME("0x109510", "/lib/libops.so", "op"))                      \
  "</error>\n\n"                                                                                                                    \
  "<error>\n  <unique>0x2</unique>\n  <tid>1</tid>\n  <kind>UninitCondition</kind>\n"                                               \
  "  <what>Conditional jump or move depends on uninitialised value(s)</what>\n"                                                     \
  STACK(FRAME("0x109600", "/lib/libops.so", "op"))                                                                                  \
  "</error>\n\n"

#define XML_TAIL                                                    \
  "\n<status>\n  <state>FINISHED</state>\n  <time>00:00:00:00.560 " \
  "</time>\n</status>\n\n<errorcounts>\n</errorcounts>\n\n</valgrindoutput>\n"

/* Lists as printed by "v.info all_errors": for case 1, then for case 2 with its two places and the first one again. */
#define LOG_READ(count)                                                                                         \
  "==1475== " count                                                                                             \
  " in context 1 of 1:\n==1475== Invalid read of size 4\n==1475==    at 0x1093F7: look (a.c:18)\n"              \
  "==1475==    by 0x1093F7: sum (a.c:32)\n==1475==    by 0x109902: op (a.c:40)\n"                               \
  "==1475==  Address 0x4a43040 is 4,160 bytes inside a block of size 8,256 alloc'd\n==1475==    at 0x4846990: " \
  "memalign (in x)\n"                                                                                           \
  "==1475== \n==1475== \n"
#define LOG_FIRST                                                                                  \
  "==1475== ERROR SUMMARY: 2 errors from 1 contexts (suppressed: 0 from 0)\n==1475== \n" LOG_READ( \
      "2 errors") "==1475== ERROR SUMMARY: 2 errors from 1 contexts (suppressed: 0 from 0)\n"
#define LOG_SECOND                                                                                                    \
  "==1475== ERROR SUMMARY: 1,005 errors from 3 contexts (suppressed: 0 from 0)\n==1475== \n"                          \
  "==1475== 1 errors in context 1 of 3:\n==1475== Mismatched free() / delete / delete []\n==1475==    at 0x4846000: " \
  "operator delete(void*) (in x)\n"                                                                                   \
  "==1475==    by 0x109500: op (a.c:50)\n==1475==  Address 0x4a50000 is 0 bytes inside a block of size 64 alloc'd\n"  \
  "==1475==    at 0x4846100: operator new[](unsigned long) (in x)\n==1475== \n==1475== \n"                            \
  "==1475== 1 errors in context 2 of 3:\n==1475== Conditional jump or move depends on uninitialised value(s)\n"       \
  "==1475==    at 0x109600: op (a.c:60)\n==1475== \n==1475== \n" LOG_READ(                                            \
      "1,003 errors") "==1475== ERROR SUMMARY: 1,005 errors from 3 contexts (suppressed: 0 from 0)\n"

#endif
