/* Operators and a class for the inputs that name some: ns::op has arguments of many types, ns::small has two. */
#ifndef OPC_TESTS_FUZZ_OPERATORS_H
#define OPC_TESTS_FUZZ_OPERATORS_H

#include "model/sample/sample.h"

opc_operator_lookup_t fuzz_operator;
opc_class_lookup_t fuzz_class;

#endif
