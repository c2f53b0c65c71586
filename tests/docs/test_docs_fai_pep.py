"""The page about FAI-PEP names every flag, and says of each what the command line does."""

from __future__ import annotations

import json

import pytest

from harness.cli import app
from harness.config.arguments import normalise_flags
from harness.config.flags import UNSUPPORTED_FLAGS
from tests.cli.project import Project
from tests.docs.pages import ROOT, codes, tables

PAGE = "fai-pep.md"
FLAGS = tables(PAGE, "flags")
SAME = [flag for row in FLAGS["same"] for flag in codes(row[0])]
REFUSED = {flag: row[1] for row in FLAGS["refused"] for flag in codes(row[0])}

FAI_PEP = """
    --ab_testing --android_dir --backend --base_commit --benchmark_file --branch --command_args --commit --commit_file
    --config_dir --cooldown --custom_binary --debug --device --device_name_mapping --devices --env --excluded_devices
    --exec_dir --framework --frameworks_dir --hash_platform_mapping --info --interval --ios_dir --lab --local_reporter
    --logger_level --model_cache --monsoon_map --platform --platform_sig --platforms --pre_built_binary --program
    --reboot --regressed_types --regression --remote --remote_access_token --remote_reporter --remote_repository
    --repo --repo_dir --reset_options --root_model_dir --run_type --same_host --screen_reporter --server_addr
    --set_freq --shared_libs --simple_local_reporter --simple_screen_reporter --status_file --step --string_map
    --timeout --user_identifier --user_string --wipe_cache
""".split()  # noqa: SIM905 - sixty quoted names are no easier to read
"""Flags of its harness.py, run_bench.py, repo_driver.py and lab_driver.py that mean something outside Meta."""


def known_flags() -> set[str]:
    """The flags of a run and of a watcher, which `--interval` makes of it, as their help shows them."""
    arguments = [argument for command in ("run", "watch") for argument in app[command].assemble_argument_collection()]
    return {name for argument in arguments for name in argument.names}


@pytest.mark.parametrize("flag", FAI_PEP)
def test_every_flag_of_fai_pep_has_one_place_on_the_page(flag: str) -> None:
    assert (flag in SAME) + (flag in REFUSED) == 1


@pytest.mark.parametrize("flag", SAME)
def test_a_flag_documented_as_unchanged_is_accepted(flag: str) -> None:
    (here,) = normalise_flags([flag])
    assert here in known_flags()


def test_a_flag_documented_as_refused_is_rejected_for_the_documented_reason() -> None:
    assert {flag.removeprefix("--").replace("_", "-"): reason for flag, reason in REFUSED.items()} == UNSUPPORTED_FLAGS


def test_no_flag_of_a_run_is_also_rejected() -> None:
    assert not known_flags() & {f"--{flag}" for flag in UNSUPPORTED_FLAGS}


@pytest.mark.parametrize("flag", ["--use_enkaku", "--quota_use_case", "--app_id"])
def test_flags_of_absent_components_are_unknown(project: Project, flag: str) -> None:
    done = project.harness("-b", "spec.json", flag, "x")
    assert done.code == 2
    assert "nknown option" in done.stderr


def test_every_defect_has_a_resolution() -> None:
    (rows,) = tables(PAGE, "defects").values()
    assert len(rows) == 26
    assert all(len(row) == 2 and all(row) for row in rows)


STAND_INS = {
    "runner": (
        "shift 10",
        '[ "$1 $4 $5 $6 $7" = "--input_file --output softmax --text_output true" ] || exit 9',
        "for place; do :; done",
        'cat "$2" "$3" > "$place/softmax.txt"; echo zero > "$place/label_0.txt"; echo one > "$place/label_1.txt"',
        """echo 'Caffe2Observer {"type": "NET", "metric": "latency", "unit": "us", "value": "7"}'""",
    ),
    "convert": ('echo "$2" > "$4"; echo "info of $7" > "$5"',),
    "libraries/python/choose.py": ('echo "$2" > "$4"',),
    "libraries/python/compare.py": (
        'grep -q "info of 50" "$4" && grep -q zero "$6" && grep -q one "$7" || exit 8',
        """echo 'Caffe2Observer {"type": "NET", "metric": "top1_accuracy", "unit": "", "value": "0.5"}'""",
    ),
    "libraries/python/aggregate.py": ('[ "$4" = 20 ] && [ -s "$2/images.txt" ]',),
}
"""Programs of FAI-PEP's world, as far as an accuracy test asks something of them."""


@pytest.mark.slow
def test_an_accuracy_test_runs_unmodified(project: Project) -> None:
    for name, lines in STAND_INS.items():
        program = project.write(f"fai-pep/{name}", "\n".join(("#!/bin/sh -e", *lines, "")))
        program.chmod(0o755)
    for name in ("init_net.pb", "predict_net.pb"):
        project.write(f"models/{name}", name)
    root, models = project.folder / "fai-pep", project.folder / "models"
    names = {"FAIPEPROOT": str(root), "MODEL_DIR": str(models), "IMAGENET_DIR": "/imagenet"}
    done = project.harness(
        *("-b", ROOT / "tests/specification/examples/faipep/accuracy.json", "--string_map", json.dumps(names)),
        *("--program", root / "runner", f"convert_image_to_tensor={root / 'convert'}"),
    )
    assert done.code == 0, done.stderr + done.stdout
    (result,) = done.read()
    assert len(result["launches"]) == 20
    assert {metric["name"]: metric["samples"] for metric in result["metrics"]} == {
        "NET latency": [7.0] * 20,
        "NET top1_accuracy": [0.5] * 20,
    }
