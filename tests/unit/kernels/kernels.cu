// What kernels.fatbin and the others beside it were made of, by nvcc 13.0: see test_kernel_image.c.
struct Packed {
  float *data;
  long sizes[3];
};
struct Large {
  char bytes[6000];
};
extern "C" __global__ void plain(float *out, const float *in, int count, double factor) {
  out[threadIdx.x] = static_cast<float>(in[count] * factor);
}
extern "C" __global__ void packed(Packed packed, char letter, long value) {
  packed.data[threadIdx.x] = static_cast<float>(value + letter);
}
extern "C" __global__ void large(Large bytes, float *out) { out[0] = bytes.bytes[threadIdx.x]; }
extern "C" __global__ void __launch_bounds__(128) bounded(float *out) {
  __shared__ float fixed[1000];
  fixed[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = fixed[999 - threadIdx.x];
}
extern "C" __global__ void nothing() {}
