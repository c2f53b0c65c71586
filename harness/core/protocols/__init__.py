"""Protocols of platforms, frameworks and reporters, and of the progress that they show. Keep them narrow.

Plug-ins are found by entry point (groups `edge_harness.platforms`, `edge_harness.frameworks`,
`edge_harness.reporters` and `edge_harness.named_reporters`); each entry names a factory `create(settings: Settings)`
that returns one of these. Formats of files (`edge_harness.foreign_formats`) need no settings: `create()`. Probes
(`edge_harness.probes`) are made for a request: `create(request: ProbeRequest)`.
`harness.testing` has a contract suite for each. Those of sources are in `harness.core.commit`, those of reporters and
channels of alarms in `harness.core.alarm_protocols`. Import every name from here.

platforms     kinds of devices
sessions      locked devices and the programs that run on them
frameworks    kinds of runners
reporters     receivers of results
probes        tools that observe programs while they run
progress      what commands show to a person meanwhile
diagnosis     requirements of plug-ins, for `harness doctor`
foreign       formats of files that other tools write
"""

from __future__ import annotations

from harness.core.protocols.diagnosis import Diagnosable, Finding
from harness.core.protocols.foreign import ForeignFormat
from harness.core.protocols.frameworks import (
    BackendOptionChecking,
    CalibratedExporting,
    DuetCapable,
    ExampleRunning,
    ExportChecking,
    Exporter,
    Framework,
    Generating,
    InputDescribing,
    Interleavable,
    LayerComparing,
    LayoutLinking,
    OperatorIdentification,
    OptionReader,
    PackageChecking,
    ReferenceMaking,
    RunnerSources,
    RunnerSubstituting,
    StagedExamples,
    StepParser,
)
from harness.core.protocols.platforms import (
    Adjustable,
    AppStarting,
    DeviceListing,
    EnergyMetering,
    LocalPlatform,
    Platform,
    Preflighting,
    app_suffix,
    device_options,
    is_local,
)
from harness.core.protocols.probes import Probe, ProbedCommand, ProbedLaunch, ProbeProblem, ProbeReading
from harness.core.protocols.progress import Board, BoardRow, Display, Progress, Task
from harness.core.protocols.reporters import (
    Cataloguing,
    DeliveryCounting,
    DoubtKeeping,
    FlushOutcome,
    Preparable,
    Reporter,
    ResultArchive,
    Rewriting,
    Spooling,
    is_archive,
)
from harness.core.protocols.sessions import (
    Clock,
    Gated,
    Interactive,
    InteractiveProcess,
    Reconnectable,
    Releasing,
    Session,
    Staged,
)

__all__ = [
    "Adjustable",
    "AppStarting",
    "BackendOptionChecking",
    "Board",
    "BoardRow",
    "CalibratedExporting",
    "Cataloguing",
    "Clock",
    "DeliveryCounting",
    "DeviceListing",
    "Diagnosable",
    "Display",
    "DoubtKeeping",
    "DuetCapable",
    "EnergyMetering",
    "ExampleRunning",
    "ExportChecking",
    "Exporter",
    "Finding",
    "FlushOutcome",
    "ForeignFormat",
    "Framework",
    "Gated",
    "Generating",
    "InputDescribing",
    "Interactive",
    "InteractiveProcess",
    "Interleavable",
    "LayerComparing",
    "LayoutLinking",
    "LocalPlatform",
    "OperatorIdentification",
    "OptionReader",
    "PackageChecking",
    "Platform",
    "Preflighting",
    "Preparable",
    "Probe",
    "ProbeProblem",
    "ProbeReading",
    "ProbedCommand",
    "ProbedLaunch",
    "Progress",
    "Reconnectable",
    "ReferenceMaking",
    "Releasing",
    "Reporter",
    "ResultArchive",
    "Rewriting",
    "RunnerSources",
    "RunnerSubstituting",
    "Session",
    "Spooling",
    "Staged",
    "StagedExamples",
    "StepParser",
    "Task",
    "app_suffix",
    "device_options",
    "is_archive",
    "is_local",
]
