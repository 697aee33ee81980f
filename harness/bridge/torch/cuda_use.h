// Whether this process has used CUDA through libtorch: CUDA is not touched before, because the process could not fork
// afterwards.
#pragma once

namespace opc {

void cuda_is_used();
bool cuda_was_used();

}  // namespace opc
