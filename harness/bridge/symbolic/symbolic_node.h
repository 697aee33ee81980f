// Symbols for sizes: expressions that know their number and record each request for it.
#pragma once

#include <c10/core/SymInt.h>

#include <string>

namespace opc {

c10::SymInt symbol(const std::string &name, int64_t hint);
// The number behind a size, without recording the request.
int64_t hint_of(const c10::SymInt &size);

}  // namespace opc
