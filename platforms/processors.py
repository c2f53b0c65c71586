"""Processors as Linux describes them in `/proc/cpuinfo`, on this machine and on phones.

A model name such as `AMD EPYC` is shared by processors that differ by a factor of six in quantised models, because one
has AVX-512 VNNI and another AVX2 only. Family, model and the flags say which it is. A virtual machine keeps the first
two when it hides flags; so names are not guessed from flags.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

CPUINFO: Final = Path("/proc/cpuinfo")

_LINE: Final = re.compile(r"^([A-Za-z_ ]+?)\s*:[ \t]*(.*?)\s*$", re.MULTILINE)

_X86_EXTENSIONS: Final = (
    *("ssse3", "sse4_1", "avx", "f16c", "fma", "avx2", "gfni", "avx_vnni", "avx_vnni_int8", "avx_vnni_int16"),
    *("avx512f", "avx512bw", "avx512vl", "avx512vbmi", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx10"),
    *("amx_tile", "amx_int8", "amx_bf16", "amx_fp16"),
)
_ARM_EXTENSIONS: Final = (
    *("neon", "vfpv4", "asimd", "fphp", "asimdhp", "asimdfhm", "asimddp", "i8mm", "bf16"),
    *("sve", "svei8mm", "svebf16", "sve2", "sme", "sme2", "smei8i32"),
)
_RISCV_EXTENSIONS: Final = ("v", "zvfh")
"""Flags that XNNPACK and the kernels of others choose their code by (XNNPACK, `src/configs/hardware-config.c`), in the
names of Linux (`arch/x86/include/asm/cpufeatures.h`, `Documentation/arch/arm64/elf_hwcaps.rst`)."""

_AMD: Final = {
    0x17: ((0x00, 0x2F, "Zen"), (0x30, 0x4F, "Zen 2"), (0x50, 0x5F, "Zen"), (0x60, 0xAF, "Zen 2")),
    0x19: ((0x10, 0x1F, "Zen 4"), (0x60, 0xAF, "Zen 4"), (0x00, 0x5F, "Zen 3")),
    0x1A: ((0x50, 0x5F, "Zen 6"), (0x80, 0xCF, "Zen 6"), (0x00, 0x7F, "Zen 5")),
}
"""By family, the first range of models that fits (Linux, `arch/x86/kernel/cpu/amd.c`, `bsp_init_amd`)."""

_INTEL: Final = {
    "Sandy Bridge": (0x2A, 0x2D),
    "Ivy Bridge": (0x3A, 0x3E),
    "Haswell": (0x3C, 0x3F, 0x45, 0x46),
    "Broadwell": (0x3D, 0x47, 0x4F, 0x56),
    "Skylake": (0x4E, 0x5E),
    "Skylake-X": (0x55,),
    "Kaby Lake": (0x8E, 0x9E),
    "Comet Lake": (0xA5, 0xA6),
    "Ice Lake": (0x6A, 0x6C, 0x7D, 0x7E),
    "Tiger Lake": (0x8C, 0x8D),
    "Rocket Lake": (0xA7,),
    "Sapphire Rapids": (0x8F,),
    "Emerald Rapids": (0xCF,),
    "Granite Rapids": (0xAD, 0xAE),
    "Sierra Forest": (0xAF,),
    "Alder Lake": (0x97, 0x9A),
    "Raptor Lake": (0xB7, 0xBA, 0xBF),
    "Meteor Lake": (0xAA, 0xAC),
    "Arrow Lake": (0xB5, 0xC5, 0xC6),
    "Lunar Lake": (0xBD,),
}
"""Models of family 6 (Linux, `arch/x86/include/asm/intel-family.h`)."""

_ARM: Final = {
    0x41: {
        0xD03: "Cortex-A53",
        0xD04: "Cortex-A35",
        0xD05: "Cortex-A55",
        0xD07: "Cortex-A57",
        0xD08: "Cortex-A72",
        0xD09: "Cortex-A73",
        0xD0A: "Cortex-A75",
        0xD0B: "Cortex-A76",
        0xD0C: "Neoverse-N1",
        0xD0D: "Cortex-A77",
        0xD40: "Neoverse-V1",
        0xD41: "Cortex-A78",
        0xD44: "Cortex-X1",
        0xD46: "Cortex-A510",
        0xD47: "Cortex-A710",
        0xD48: "Cortex-X2",
        0xD49: "Neoverse-N2",
        0xD4B: "Cortex-A78C",
        0xD4C: "Cortex-X1C",
        0xD4D: "Cortex-A715",
        0xD4E: "Cortex-X3",
        0xD4F: "Neoverse-V2",
        0xD80: "Cortex-A520",
        0xD81: "Cortex-A720",
        0xD82: "Cortex-X4",
        0xD84: "Neoverse-V3",
        0xD85: "Cortex-X925",
        0xD87: "Cortex-A725",
        0xD8E: "Neoverse-N3",
    },
    0x51: {
        0x001: "Oryon",
        0x800: "Kryo 260 Gold",
        0x801: "Kryo 260 Silver",
        0x802: "Kryo 385 Gold",
        0x803: "Kryo 385 Silver",
        0x804: "Kryo 485 Gold",
        0x805: "Kryo 485 Silver",
    },
    0xC0: {0xAC3: "Ampere-1", 0xAC4: "Ampere-1A"},
}
"""By implementer and part (Linux, `arch/arm64/include/asm/cputype.h`; util-linux, `sys-utils/lscpu-arm.c`)."""


class Processor(Struct, frozen=True):
    """Processor of a device.

    Attributes:
        microarchitecture: Its name, or the numbers that stand for it; of unlike cores, all, separated by commas.
        extensions: Those of its vector and matrix extensions that kernels are chosen by, as Linux names them.
        numbers: What identifies it beside them.
    """

    microarchitecture: str
    extensions: tuple[str, ...]
    numbers: str

    @property
    def digest(self) -> str:
        """Eight hex digits: equal for processors that run the same code at the same speed, clocks apart."""
        return hashlib.sha256(f"{self.numbers} {' '.join(self.extensions)}".encode()).hexdigest()[:8]


def parse_processor(cpuinfo: str) -> Processor | None:
    """Return the processor that a `/proc/cpuinfo` describes; None where it says nothing of it.

    Args:
        cpuinfo: The text, or those lines of it that begin with the names that are used here.
    """
    fields: dict[str, list[str]] = {}
    for name, value in _LINE.findall(cpuinfo):
        fields.setdefault(name.strip(), []).append(value)
    if "vendor_id" in fields and "cpu family" in fields:
        return _x86(fields)
    if "CPU part" in fields:
        return _arm(fields)
    if "isa" in fields:
        return _riscv(fields)
    return None


def _x86(fields: dict[str, list[str]]) -> Processor:
    vendor, family, model = (fields.get(name, ["0"])[0] for name in ("vendor_id", "cpu family", "model"))
    numbers = f"{vendor} family {family} model {model}"
    name = _x86_name(vendor, _number(family), _number(model)) or numbers
    return Processor(name, _present(_X86_EXTENSIONS, fields.get("flags", [""])[0]), numbers)


def _x86_name(vendor: str, family: int, model: int) -> str | None:
    if vendor == "AuthenticAMD":
        return next((name for first, last, name in _AMD.get(family, ()) if first <= model <= last), None)
    if vendor == "GenuineIntel" and family == 6:
        return next((name for name, models in _INTEL.items() if model in models), None)
    return None


def _arm(fields: dict[str, list[str]]) -> Processor:
    """Describe the cores that are online. What all of them can do is what programs may use."""
    implementers = [_number(value) for value in fields.get("CPU implementer", ["0x41"])]
    parts = [_number(value) for value in fields["CPU part"]]
    if len(implementers) != len(parts):
        implementers = [implementers[0]] * len(parts)
    cores = sorted(set(zip(implementers, parts, strict=True)), reverse=True)
    names = [_ARM.get(maker, {}).get(part, f"implementer {maker:#x} part {part:#x}") for maker, part in cores]
    flags = set.intersection(*(set(line.split()) for line in fields.get("Features", [""])))
    numbers = ", ".join(f"{maker:#x} {part:#x}" for maker, part in cores)
    return Processor(", ".join(names), _present(_ARM_EXTENSIONS, " ".join(flags)), numbers)


def _riscv(fields: dict[str, list[str]]) -> Processor:
    isa = fields["isa"][0]
    single, *named = isa.split("_")
    name = next(iter(fields.get("uarch", [])), isa)
    return Processor(name, _present(_RISCV_EXTENSIONS, " ".join((*single[4:], *named))), name)


def _present(known: Sequence[str], flags: str) -> tuple[str, ...]:
    words = frozenset(flags.split())
    return tuple(name for name in known if name in words)


def _number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return 0
