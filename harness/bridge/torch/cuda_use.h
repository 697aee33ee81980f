// Whether this process has asked libtorch for CUDA: nothing of CUDA is touched before, because it could not fork
// afterwards.
#ifndef OPC_BRIDGE_TORCH_CUDA_USE_H
#define OPC_BRIDGE_TORCH_CUDA_USE_H

namespace opc {

void cuda_is_used();
bool cuda_was_used();

}  // namespace opc

#endif
