"""Unit test: a sample file's values become the arguments that it describes. Needs a Python that imports torch."""

import pathlib
import sys
import unittest

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from python_arguments import Arguments, Unusable, made_up

SCHEMA = torch._C.parse_schema(
    "t::op(Tensor x, Tensor? y, Tensor?[] list, float f, Scalar s, ScalarType d, Device e, Layout l, MemoryFormat m, *, Generator? g=None) -> ()")
OTHERS = [None, [], 1.5, 2, "float32", "cpu", "strided", "contiguous"]


def made(*values, **named):
    """Arguments with these first ones."""
    arguments = Arguments({"args": [*values, *OTHERS[len(values) - 1 :]], "kwargs": named}, SCHEMA)
    return arguments.args if not named else arguments.kwargs


def tensor(**spec):
    return made({"tensor": spec})[0]


class Tensors(unittest.TestCase):
    def test_shape_and_dtype(self):
        x = tensor(shape=[2, 3], dtype="float16")
        self.assertEqual((x.shape, x.dtype, x.stride(), x.requires_grad), ((2, 3), torch.float16, (3, 1), False))

    def test_strides_offset_and_a_larger_storage(self):
        x = tensor(shape=[2, 3], strides=[1, 2], storage_offset=4, storage_size=20, fill="arange")
        self.assertEqual((x.stride(), x.storage_offset(), x.untyped_storage().nbytes()), ((1, 2), 4, 80))
        self.assertEqual(x.tolist(), [[0, 1, 2], [3, 4, 5]])

    def test_expanded_and_empty(self):
        self.assertEqual(tensor(shape=[3, 2], strides=[0, 1], fill="ones").tolist(), [[1, 1]] * 3)
        self.assertEqual(tensor(shape=[3, 0, 2]).untyped_storage().nbytes(), 0)
        self.assertEqual(tensor(shape=[3, 0, 2]).stride(), (2, 2, 1))

    def test_one_storage_and_one_tensor(self):
        x, y = made({"tensor": {"shape": [2], "storage": "a", "fill": "zeros"}},
                    {"tensor": {"shape": [2], "storage": "a", "storage_offset": 1, "storage_size": 9, "fill": "ones"}})[:2]  # fmt: skip
        self.assertEqual(x.untyped_storage().data_ptr(), y.untyped_storage().data_ptr())
        self.assertEqual((x.tolist(), x.untyped_storage().nbytes()), ([0, 1], 36))
        x, y = made({"tensor": {"shape": [2], "identity": "x"}}, {"tensor": {"shape": [2], "identity": "x"}})[:2]
        self.assertIs(x, y)

    def test_conj_and_neg_keep_the_values(self):
        values = {"values": [{"complex": [1, 2]}, {"complex": [3, -4]}]}
        for bits in ({"conj": True}, {"neg": True}, {"conj": True, "neg": True}):
            x = tensor(shape=[2], dtype="complex64", fill=values, **bits)
            self.assertEqual(x.tolist(), [1 + 2j, 3 - 4j])
            self.assertEqual((x.is_conj(), x.is_neg()), (bits.get("conj", False), bits.get("neg", False)))

    def test_requires_grad_is_a_leaf(self):
        x = tensor(shape=[2], requires_grad=True)
        self.assertTrue(x.requires_grad and x.is_leaf)

    def test_grad_is_asked_for_where_it_can_be(self):
        listed = [{"tensor": {"shape": [2], **more}} for more in ({}, {"dtype": "int64"}, {"dtype": "complex64"}, {"requires_grad": False})]
        for grad, wanted in ((False, [False] * 4), (True, [True, False, True, False])):
            made = [Arguments({"args": [one]}, SCHEMA, grad=grad) for one in listed]
            self.assertEqual([arguments.args[0].requires_grad for arguments in made], wanted)
            self.assertEqual([arguments.tracked for arguments in made], [int(one) for one in wanted])

    def test_fills(self):
        self.assertEqual(tensor(shape=[2], fill={"full": "-inf"}).tolist(), [float("-inf")] * 2)
        self.assertEqual(tensor(shape=[2], dtype="int64", fill={"values": [2**62 + 1, -1]}).tolist(), [2**62 + 1, -1])
        self.assertEqual(tensor(shape=[1], fill={"values": [{"bits": "0x7fc00001"}]}).view(torch.int32).tolist(), [0x7FC00001])
        drawn = tensor(shape=[500], dtype="int64", fill={"range": [3, 5]})
        self.assertEqual(set(drawn.tolist()), {3, 4})
        even = tensor(shape=[500], dtype="float16", fill="uniform")
        self.assertTrue(bool((even >= 0).all() and (even < 1).all()))
        for dtype, low, high in (("int32", -4, 4), ("uint8", 0, 8), ("bool", 0, 1)):
            x = tensor(shape=[500], dtype=dtype).to(torch.int64)
            self.assertEqual((x.min().item(), x.max().item()), (low, high))
        self.assertAlmostEqual(tensor(shape=[4000], dtype="complex128").real.std().item(), 1, delta=0.1)

    def test_the_same_path_gives_the_same_numbers(self):
        self.assertTrue(torch.equal(tensor(shape=[5]), tensor(shape=[5])))
        x, y = made({"tensor": {"shape": [5]}}, {"tensor": {"shape": [5]}})[:2]
        self.assertFalse(torch.equal(x, y))

    def test_what_it_does_not_know_is_refused(self):
        for spec in ({"special": "nan"}, {"device": "cuda"}, {"fill": {"such": 1}}):
            with self.assertRaises(Unusable):
                tensor(shape=[2], **spec)


class Values(unittest.TestCase):
    def test_by_the_type_of_the_schema(self):
        values = made({"tensor": {"shape": []}}, None, [None, {"tensor": {"shape": [1]}}], "nan", {"complex": [1, "inf"]}, {"dtype": "int8"},
                      {"device": "cpu"}, "strided", "channels_last")  # fmt: skip
        self.assertIsNone(values[1])
        self.assertEqual((values[2][0], values[2][1].shape), (None, (1,)))
        self.assertNotEqual(values[3], values[3])
        self.assertEqual(values[4], complex(1, float("inf")))
        self.assertEqual(values[5:], (torch.int8, torch.device("cpu"), torch.strided, torch.channels_last))
        self.assertEqual(made({"tensor": {"shape": []}})[5:], (torch.float32, torch.device("cpu"), torch.strided, torch.contiguous_format))

    def test_a_generator_has_its_seed(self):
        self.assertEqual(made({"tensor": {"shape": []}}, g={"generator": 7})["g"].initial_seed(), 7)

    def test_bits_of_a_number(self):
        self.assertEqual(made({"tensor": {"shape": []}}, None, [], {"bits": "0x3ff8000000000000"})[3], 1.5)


class MadeUp(unittest.TestCase):
    def test_small_values_for_what_has_no_default(self):
        sample = made_up(torch._C.parse_schema("t::op(Tensor x, int n, Tensor? y, bool b=True, *, float f) -> ()"))
        self.assertEqual(sample, {"args": [{"tensor": {"shape": [2, 3]}}, 1, None], "kwargs": {"f": 1.5}})

    def test_nothing_where_it_would_be_a_guess(self):
        self.assertRaises(Unusable, made_up, torch._C.parse_schema("t::op(str mode) -> ()"))


if __name__ == "__main__":
    unittest.main()
