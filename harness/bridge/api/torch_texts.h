/* What a message of libtorch means, where only its text says so (torch_texts.def).
 *
 * Threads: any. Ownership: none. */
#pragma once

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum opc_torch_meaning {
  OPC_TORCH_NO_KERNEL,
  OPC_TORCH_TRITON_CANNOT,
  OPC_TORCH_FAKE_IN_PYTHON,
  OPC_TORCH_NOT_PYTHON_SIZES,
  OPC_TORCH_ALIASES_INPUT,
  OPC_TORCH_OUT_OF_MEMORY,
  OPC_TORCH_INTERNAL_ASSERT,
  OPC_TORCH_REFUSES_DETERMINISM, /* of torch.use_deterministic_algorithms(True) */
  OPC_TORCH_WANTS_DATA,   /* of a tensor without data: always fails. Copying one to a device with data is not among
                             them: under torch.compile that gives another tensor without data */
  OPC_TORCH_WANTS_PYTHON, /* a Meta kernel that might not throw in a process with Python, because ATen's other Meta
                             kernels are there: libtorch's stable interface hides the cause, and convolutions end in
                             the hook for unknown backends */
  OPC_TORCH_MAKES_SIZE,   /* get_ctx() in a fake kernel in Python without a FakeTensorMode: it makes a size that
                             depends on data */
  OPC_TORCH_NO_FAKE,      /* the Meta kernel of a torch.library.custom_op that has no fake kernel */
  OPC_TORCH_VIEW_OUTSIDE, /* a view asks for elements that the storage does not have */
  OPC_TORCH_WANTS_NUMBER, /* of a size that is a symbol */
  OPC_TORCH_GRADIENT_SHAPE
} opc_torch_meaning_t;

bool opc_torch_says(opc_torch_meaning_t meaning, const char *message);

#ifdef __cplusplus
}
#endif
