"""Outputs of models before lowering, in the cache: computed once for each export and example folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.core.benchmark import Export
from harness.core.errors import DataUnavailable, ExportFailed
from harness.core.evaluation import LayerGaps
from harness.core.examples import Stage
from harness.core.protocols import Exporter, LayerComparing, Progress, ReferenceMaking, Task
from harness.files.atomic import write_atomically
from harness.files.drafts import open_draft, sweep_drafts
from harness.files.examples import read_manifest
from harness.files.locks import FileLock
from harness.models.layout import path_segment
from harness.shell import poll_until

_LAYOUT: Final = 2
"""Part of every key; raised when outputs of the same request become others."""

_KEY_LENGTH: Final = 32
_LAYERS: Final = "layers.json"
"""Gaps of layers, beside the output folders of the stages."""


class ReferenceCache:
    """Output folders of the stages before the device, each computed once.

    Args:
        folder: The cache folder; made when needed. Everything in it may be deleted and is computed again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "references"

    def fetch(
        self,
        export: Export,
        framework: Exporter,
        *,
        examples: Path,
        examples_digest: str,
        calibration: Path | None = None,
        progress: Progress,
        only: Collection[Stage] = tuple(Stage),
    ) -> Mapping[Stage, Path]:
        """Return the output folder of each stage that the framework can compute for an export.

        Args:
            export: Request of the program whose origin is meant.
            framework: Framework of the program.
            examples: Example folder.
            examples_digest: Its digest.
            calibration: Folder of the examples that the program was calibrated with, if it was.
            progress: Receives messages.
            only: The stages that are wanted.

        Raises:
            ExportFailed: The framework computes no references, or a stage cannot be computed.
        """
        if not isinstance(framework, ReferenceMaking):
            raise ExportFailed(
                "this framework computes no outputs of the model before lowering, to compare those of the device with",
                hint="evaluate models of framework `executorch`",
            )
        stages = tuple(stage for stage in framework.reference_stages(export) if stage in only)
        folder = self._place(export, framework, examples_digest, calibration)
        with _locked(folder, export, progress):
            missing = [stage for stage in stages if not _is_whole(folder / stage)]
            if missing:
                if any((folder / stage).exists() for stage in missing):
                    progress.say(f"the outputs of {export.definition} in the cache are damaged; computing them again")
                text = f"computing {', '.join(missing)} outputs of {export.definition}"
                with progress.task(text) as task:
                    _make(export, framework, missing, examples, calibration, folder=folder, task=task)
        return {stage: folder / stage for stage in stages}

    def fetch_layers(
        self,
        export: Export,
        framework: Exporter,
        *,
        examples: Path,
        examples_digest: str,
        calibration: Path | None = None,
        progress: Progress,
    ) -> LayerGaps:
        """Return the gaps of the layers of a program, computed once.

        Arguments and errors as for `fetch`. A framework that compares no layers has none, with the reason.
        """
        if not isinstance(framework, LayerComparing):
            return LayerGaps(unavailable="this framework compares no layers")
        folder = self._place(export, framework, examples_digest, calibration)
        with _locked(folder, export, progress):
            try:
                return LayerGaps.model_validate_json((folder / _LAYERS).read_bytes())
            except (FileNotFoundError, ValidationError):
                pass  # not computed yet, or by an older harness
            with progress.task(f"comparing layers of {export.definition} lowered by {export.recipe}") as task:
                gaps = framework.compare_layers(export, examples, task, calibration=calibration)
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(folder / _LAYERS, gaps.model_dump_json(indent=2) + "\n")
            return gaps

    def _place(self, export: Export, framework: Exporter, examples_digest: str, calibration: Path | None) -> Path:
        """Return the folder of an export's references: their content counts, not where examples come from."""
        fingerprint = dict(framework.fingerprint(export))
        if calibration is not None:
            fingerprint["calibration data"] = read_manifest(calibration).digest
        request = {
            "layout": _LAYOUT,
            "export": export.model_copy(update={"calibration_data": None}).model_dump(mode="json"),
            "fingerprint": fingerprint,
            "examples": examples_digest,
        }
        key = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:_KEY_LENGTH]
        return self._folder / path_segment(export.definition) / path_segment(export.recipe) / key


def _is_whole(folder: Path) -> bool:
    from harness.files.examples import read_outputs  # noqa: PLC0415 - NumPy, which only evaluations need

    try:
        read_outputs(folder)
    except DataUnavailable:
        return False
    return True


@contextmanager
def _locked(folder: Path, export: Export, progress: Progress) -> Iterator[None]:
    """Hold the lock of a folder of references, and map errors of the disk.

    Raises:
        ExportFailed: The cache cannot be used.
    """
    lock = FileLock(folder.with_name(f".{folder.name}.lock"))
    try:
        if not lock.acquire():
            progress.say(f"{export.definition}: waiting for another harness that computes its outputs")
            poll_until(lock.acquire)
        with lock:
            yield
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        raise ExportFailed(
            f"cannot keep the outputs of {export.definition} in the cache: {error.strerror or error}{place}",
            hint="make room, fix the permissions, or put the cache elsewhere with --model-cache",
        ) from error


def _make(
    export: Export,
    framework: ReferenceMaking,
    stages: Sequence[Stage],
    examples: Path,
    calibration: Path | None,
    *,
    folder: Path,
    task: Task,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    sweep_drafts(folder)
    with open_draft(folder) as draft:
        draft.mkdir()
        framework.make_references(export, examples, stages, draft, task, calibration=calibration)
        for stage in stages:
            if (folder / stage).exists():
                shutil.rmtree(folder / stage)
            (draft / stage).rename(folder / stage)
