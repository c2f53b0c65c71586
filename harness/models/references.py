"""Outputs of models before lowering, in the cache: computed once for each export and example folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from harness.core.benchmark import Export
from harness.core.errors import ExportFailed
from harness.core.examples import MANIFEST, Stage
from harness.core.protocols import Exporter, Progress, ReferenceMaking, Task
from harness.files.drafts import open_draft, sweep_drafts
from harness.files.examples import read_manifest
from harness.files.locks import FileLock
from harness.models.layout import path_segment
from harness.shell import poll_until

_KEY_LENGTH = 32


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
        progress: Progress,
        calibration: Path | None = None,
    ) -> Mapping[Stage, Path]:
        """Return the output folder of each stage that the framework can compute for an export.

        Args:
            export: Request of the program whose origin is meant.
            framework: Framework of the program.
            examples: Example folder.
            examples_digest: Its digest.
            progress: Receives messages.
            calibration: Folder of the examples that the program was calibrated with, if it was.

        Raises:
            ExportFailed: The framework computes no references, or a stage cannot be computed.
        """
        if not isinstance(framework, ReferenceMaking):
            raise ExportFailed(
                "this framework computes no outputs of the model before lowering, to compare those of the device with",
                hint="evaluate models of framework `executorch`",
            )
        stages = tuple(framework.reference_stages(export))
        home = self._folder / path_segment(export.definition) / path_segment(export.recipe)
        folder = home / _key(export, framework.fingerprint(export), examples_digest, calibration)
        lock = FileLock(folder.with_name(f".{folder.name}.lock"))
        try:
            if not lock.acquire():
                progress.say(f"{export.definition}: waiting for another harness that computes its outputs")
                poll_until(lock.acquire)
            with lock:
                missing = [stage for stage in stages if not (folder / stage / MANIFEST).is_file()]
                text = f"computing {', '.join(missing)} outputs of {export.definition}"
                with progress.task(text) if missing else nullcontext() as task:
                    if task is not None:
                        _make(
                            export,
                            framework,
                            missing,
                            examples=examples,
                            folder=folder,
                            task=task,
                            calibration=calibration,
                        )
        except OSError as error:
            place = f": {error.filename}" if error.filename else ""
            raise ExportFailed(
                f"cannot keep the outputs of {export.definition} in the cache: {error.strerror or error}{place}",
                hint="make room, fix the permissions, or put the cache elsewhere with --model-cache",
            ) from error
        return {stage: folder / stage for stage in stages}


def _make(
    export: Export,
    framework: ReferenceMaking,
    stages: Sequence[Stage],
    *,
    examples: Path,
    folder: Path,
    task: Task,
    calibration: Path | None,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    sweep_drafts(folder)
    with open_draft(folder) as draft:
        draft.mkdir()
        framework.make_references(export, examples, stages, draft, task, calibration=calibration)
        for stage in stages:
            (draft / stage).rename(folder / stage)


def _key(export: Export, fingerprint: Mapping[str, str], examples_digest: str, calibration: Path | None) -> str:
    request = {
        "export": export.model_dump(mode="json"),
        "fingerprint": dict(fingerprint),
        "examples": examples_digest,
        **({} if calibration is None else {"calibration": read_manifest(calibration).digest}),
    }
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:_KEY_LENGTH]
