/* The function that a kernel is, from the names of what calls it, as libstdc++ demangles them. */
#include "supervise/symbols/kernel_name.h"
#include "unit.h"

#define WRAP(function)                                                                                           \
  "c10::impl::detail::WrapFunctionIntoFunctor_<c10::CompileTimeFunctionPointer<at::Tensor (at::Tensor const&), " \
  "&" function ">, at::Tensor, c10::guts::typelist::typelist<at::Tensor const&> >"

static void assert_functor(const char *type, const char *name, const char *arguments, const char *last) {
  opc_kernel_name_t found;
  assert_true(opc_kernel_name_of_functor(type, &found));
  assert_string_equal(opc_text_c(&found.name), name);
  assert_string_equal(opc_text_c(&found.arguments), arguments);
  assert_string_equal(opc_kernel_name_short(&found), last);
  opc_kernel_name_clear(&found);
}

static void test_functions_in_functors(void **state) {
  (void)state;
  assert_functor(WRAP("my::kernel"), "my::kernel", "(at::Tensor const&)", "kernel");
  assert_functor(WRAP("(anonymous namespace)::kernel"), "(anonymous namespace)::kernel", "(at::Tensor const&)",
                 "kernel");
  assert_functor(WRAP("(kernel(at::Tensor const&))"), "kernel", "(at::Tensor const&)", "kernel");
  assert_functor(WRAP("(at::Tensor my::kernel<3, std::pair<int, int> >(at::Tensor const&))"),
                 "my::kernel<3, std::pair<int, int> >", "(at::Tensor const&)", "kernel<3, std::pair<int, int> >");
  assert_functor(
      "c10::impl::detail::WrapFunctionIntoFunctor_<c10::CompileTimeFunctionPointer<void (at::Tensor&, "
      "std::optional<double>), &my::fill>, void, c10::guts::typelist::typelist<at::Tensor&> >",
      "my::fill", "(at::Tensor&, std::optional<double>)", "fill");
  assert_functor("my::Functor", "my::Functor::operator()", "", "operator()");
}

static void test_lambdas(void **state) {
  (void)state;
  opc_kernel_name_t found;
  assert_true(opc_kernel_name_of_functor(
      "c10::impl::detail::WrapFunctionIntoRuntimeFunctor_<TORCH_LIBRARY_IMPL_init_my_CPU_2(torch::Library&)::{lambda("
      "at::Tensor const&)#1}, at::Tensor, c10::guts::typelist::typelist<at::Tensor const&> >",
      &found));
  assert_true(found.lambda);
  assert_true(opc_kernel_name_is(&found,
                                 "TORCH_LIBRARY_IMPL_init_my_CPU_2(torch::Library&)::{lambda(at::Tensor "
                                 "const&)#1}::operator()(at::Tensor const&) const",
                                 true));
  assert_false(opc_kernel_name_is(&found,
                                  "TORCH_LIBRARY_IMPL_init_my_CPU_2(torch::Library&)::{lambda(at::Tensor "
                                  "const&)#2}::operator()(at::Tensor const&) const",
                                  true));
  opc_kernel_name_clear(&found);
}

static void test_functions_in_callers(void **state) {
  (void)state;
  opc_kernel_name_t found;
  assert_true(
      opc_kernel_name_of_caller("void c10::BoxedKernel::make_boxed_function<&(boxed(c10::OperatorHandle const&, "
                                "std::vector<int>*))>(c10::OperatorKernel*, c10::DispatchKeySet)",
                                &found));
  assert_string_equal(opc_text_c(&found.name), "boxed");
  opc_kernel_name_clear(&found);
  assert_true(
      opc_kernel_name_of_caller("torch::stable::detail::boxer<torch::stable::Tensor (torch::stable::Tensor "
                                "const&), &my::kernel>::boxed_fn(unsigned long*, unsigned long, unsigned long)",
                                &found));
  assert_string_equal(opc_text_c(&found.name), "my::kernel");
  opc_kernel_name_clear(&found);
  /* A kernel of the user's that is made of another function. */
  assert_false(opc_kernel_name_of_caller("at::Tensor my::wrapped<&(my::inner(at::Tensor))>(at::Tensor)", &found));
  opc_kernel_name_clear(&found);
}

static void test_which_function_it_is(void **state) {
  (void)state;
  opc_kernel_name_t name;
  assert_true(opc_kernel_name_of_functor(WRAP("my::kernel"), &name));
  assert_true(opc_kernel_name_is(&name, "my::kernel(at::Tensor const&)", true));
  assert_true(opc_kernel_name_is(&name, "at::Tensor my::kernel(at::Tensor const&)", true));
  assert_true(opc_kernel_name_is(&name, "my::kernel(at::Tensor const&, int)", false));
  assert_false(opc_kernel_name_is(&name, "my::kernel(at::Tensor, int)", true));
  assert_false(opc_kernel_name_is(&name, "oh_my::kernel(at::Tensor const&)", false));
  assert_false(opc_kernel_name_is(&name, "my::kernel_two(at::Tensor const&)", false));
  opc_kernel_name_clear(&name);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions_in_functors), cmocka_unit_test(test_lambdas),
                                     cmocka_unit_test(test_functions_in_callers),
                                     cmocka_unit_test(test_which_function_it_is)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
