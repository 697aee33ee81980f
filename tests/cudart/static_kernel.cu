// A kernel in static_user.c's library, whose fat binary says what its parameters are; it never runs.
__global__ void copy_kernel(const void *, void *) {}

void static_kernel_kept() { copy_kernel<<<1, 1>>>(nullptr, nullptr); }
