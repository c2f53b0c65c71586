"""Processors in `/proc/cpuinfo`, as real machines print it."""

from __future__ import annotations

import pytest

from harness.presentation.processors import name_extensions
from platforms.processors import parse_processor

X86 = """processor	: 0
vendor_id	: {vendor}
cpu family	: {family}
model		: {model}
model name	: AMD EPYC
stepping	: 1
flags		: fpu vme {flags}
bogomips	: 5192.24

"""
WIDE = "sse4_1 avx f16c fma avx2 avx512f avx512bw avx512vl avx512_vnni avx512_bf16"
PIXEL = """Processor	: AArch64 Processor rev 0 (aarch64)
processor	: 0
BogoMIPS	: 49.15
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x2
CPU part	: 0xd05
CPU revision	: 0

processor	: 4
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp
CPU implementer	: 0x41
CPU part	: 0xd0b

processor	: 6
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp sve
CPU implementer	: 0x41
CPU part	: 0xd44

Hardware	: Google
"""


def x86(family: int, model: int, flags: str = WIDE, vendor: str = "AuthenticAMD") -> str:
    return X86.format(vendor=vendor, family=family, model=model, flags=flags) * 2


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (x86(26, 2), "Zen 5"),
        (x86(25, 17), "Zen 4"),
        (x86(25, 1), "Zen 3"),
        (x86(23, 49), "Zen 2"),
        (x86(6, 85, vendor="GenuineIntel"), "Skylake-X"),
        (x86(6, 143, vendor="GenuineIntel"), "Sapphire Rapids"),
        (x86(6, 255, vendor="GenuineIntel"), "GenuineIntel family 6 model 255"),
        (x86(99, 1, vendor="Unheard"), "Unheard family 99 model 1"),
    ],
)
def test_family_and_model_name_the_microarchitecture_which_hidden_flags_do_not_change(text: str, name: str) -> None:
    processor = parse_processor(text)
    assert processor is not None
    assert processor.microarchitecture == name


def test_processors_of_one_name_with_other_extensions_are_told_apart() -> None:
    new, old = parse_processor(x86(26, 2)), parse_processor(x86(23, 49, "sse4_1 avx f16c fma avx2"))
    hidden = parse_processor(x86(26, 2, "sse4_1 avx f16c fma avx2"))
    assert new is not None
    assert old is not None
    assert hidden is not None
    assert len({new.digest, old.digest, hidden.digest}) == 3
    assert name_extensions(new.extensions) == "AVX-512 VNNI BF16"
    assert name_extensions(old.extensions) == name_extensions(hidden.extensions) == "AVX2"


def test_flags_that_no_kernel_is_chosen_by_make_no_other_processor() -> None:
    plain, more = parse_processor(x86(26, 2)), parse_processor(x86(26, 2, f"{WIDE} newly_known_flag"))
    assert plain is not None
    assert more is not None
    assert plain.digest == more.digest


def test_unlike_cores_of_a_phone_are_all_named_and_share_what_every_one_can_do() -> None:
    processor = parse_processor(PIXEL)
    assert processor is not None
    assert processor.microarchitecture == "Cortex-X1, Cortex-A76, Cortex-A55"
    assert name_extensions(processor.extensions) == "NEON FP16 DotProd"


def test_sorted_lines_of_a_phone_are_understood_as_well() -> None:
    processor = parse_processor("\n".join(sorted(set(PIXEL.splitlines()))))
    assert processor is not None
    assert processor.microarchitecture == "Cortex-X1, Cortex-A76, Cortex-A55"


def test_a_part_without_a_known_name_is_told_by_its_numbers() -> None:
    processor = parse_processor("CPU implementer\t: 0x61\nCPU part\t: 0x022\nFeatures\t: fp asimd\n")
    assert processor is not None
    assert processor.microarchitecture == "implementer 0x61 part 0x22"


def test_riscv_names_its_extensions_in_one_word() -> None:
    processor = parse_processor("processor\t: 0\nisa\t\t: rv64imafdcv_zicbom_zvfh\nuarch\t\t: sifive,u74-mc\n")
    assert processor is not None
    assert (processor.microarchitecture, processor.extensions) == ("sifive,u74-mc", ("v", "zvfh"))


def test_a_text_that_says_nothing_is_no_processor() -> None:
    assert parse_processor("") is None
    assert parse_processor("Hardware\t: Example\nRevision\t: 1\n") is None
    assert name_extensions(()) == ""


@pytest.mark.parametrize(
    ("extensions", "words"),
    [
        (("avx", "avx2", "avx_vnni"), "AVX2 VNNI"),
        (("avx2", "avx512f", "amx_tile", "amx_int8"), "AMX INT8 AVX-512"),
        (("asimd", "asimddp", "i8mm", "sve", "sve2"), "SVE2 NEON DotProd I8MM"),
        (("sse4_1",), "SSE4.1"),
    ],
)
def test_extensions_in_words(extensions: tuple[str, ...], words: str) -> None:
    assert name_extensions(extensions) == words
