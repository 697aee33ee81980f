// Whether this process has used CUDA through libtorch: CUDA is not touched before, because the process could not fork
// afterwards.
#ifndef OPC_BRIDGE_TORCH_CUDA_USE_H
#define OPC_BRIDGE_TORCH_CUDA_USE_H

namespace opc {

void cuda_is_used();
bool cuda_was_used();

}  // namespace opc

#endif
