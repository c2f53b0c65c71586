r"""Tables of the database. `migrations` makes them; a test keeps both equal.

A result is stored as its canonical JSON without samples, compressed, with the samples beside it as packed numbers: both
together give the same bytes again. The other columns repeat what views look for. Names that many rows share (commits,
devices, benchmarks, metrics) have tables of their own.

    commits   devices   benchmarks
        \        |        /
         \      cells ----         metric_names
          \     /                      |
           results ---------------- metrics ---- samples
              |   \
        contrasts  artifacts_of_results ---- artifacts      alarms ---- alarm_commits, alarm_remarks      tokens

    run_requests   lab_offers   device_doubts
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

METADATA: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_ID: Final = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts rows by itself only where the type is INTEGER."""

COMMITS: Final = Table(
    "commits",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("source", String, nullable=False),
    Column("sha", String, nullable=False),
    Column("time", Double),
    Column("name", String, nullable=False, default=""),
    Column("subject", Text, nullable=False, default=""),
    Column("author", Text, nullable=False, default=""),
    Column("url", Text, nullable=False, default=""),
    Column("measured", Double),  # start of its newest measurement, by which lists are ordered
    UniqueConstraint("source", "sha"),
    Index(None, "sha"),
    Index(None, "measured"),
    Index(None, "time"),
)

DEVICES: Final = Table(
    "devices",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("identity", String, nullable=False, unique=True),  # "" stands for results without a device
    Column("platform", String, nullable=False, default=""),
    Column("name", String, nullable=False, default=""),
    Column("kind", String, nullable=False, default=""),
    Column("os", String, nullable=False, default=""),
)

BENCHMARKS: Final = Table(
    "benchmarks",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("digest", String, nullable=False, unique=True),
    Column("model", String, nullable=False),
    Column("identifier", String, nullable=False),
    Column("framework", String, nullable=False),
    Column("backend", String, nullable=False, default=""),
    Column("threads", Integer),
    Index(None, "model", "identifier"),
)

CELLS: Final = Table(
    "cells",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("key", String, nullable=False, unique=True),  # see harness.store.history.Cell
    Column("benchmark_id", ForeignKey("benchmarks.id"), nullable=False),
    Column("device_id", ForeignKey("devices.id"), nullable=False),
    Column("latest_result_id", _ID),  # its newest result by start, whatever its outcome; kept by whoever writes
    Column("latest_good_id", _ID),  # the newest that is ok
    Column("results", Integer, nullable=False, default=0),
    UniqueConstraint("benchmark_id", "device_id"),
    Index(None, "device_id"),
)

RESULTS: Final = Table(
    "results",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("uid", String, nullable=False, unique=True),  # the idempotency key
    Column("content", String, nullable=False),  # SHA-256 of the canonical JSON: the same uid with another is a conflict
    Column("cell_id", ForeignKey("cells.id"), nullable=False),
    Column("commit_id", ForeignKey("commits.id")),
    Column("run", String, nullable=False, default=""),
    Column("category", String, nullable=False, default=""),
    Column("started", Double, nullable=False),  # as far as it is plausible: see `result_columns.plausible_start`
    Column("time", Double, nullable=False),  # of the commit, else `started`: the axis of every history
    Column("received", Double, nullable=False),  # by the clock of whoever stored it
    Column("outcome", String, nullable=False),
    Column("reason", Text, nullable=False, default=""),
    Column("trusted", Boolean, nullable=False),  # false also while its device is in doubt: see `doubts`
    Column("origin", Text, nullable=False, default=""),  # `Origin` as JSON, of figures that were measured elsewhere
    Column("reproduce", Text, nullable=False, default=""),
    Column("size_bytes", Integer, nullable=False),  # of the canonical JSON
    Column("body", LargeBinary, nullable=False),
    # each holds all that its view chooses rows by, so that the page is known before a row (with its body) is read
    Index("ix_results_history", "cell_id", "time", "started", "outcome", "trusted"),
    Index("ix_results_elsewhere", "cell_id", sqlite_where=text("origin != ''"), postgresql_where=text("origin != ''")),
    Index("ix_results_commit", "commit_id", "cell_id", "started", "outcome"),
    Index(None, "started", "cell_id", "category"),
    Index(None, "category", "cell_id"),
    Index(None, "run"),
)

METRIC_NAMES: Final = Table(
    "metric_names",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("name", String, nullable=False),
    Column("unit", String, nullable=False),
    Column("direction", String, nullable=False, default=""),  # "" for a text
    UniqueConstraint("name", "unit", "direction"),
)

METRICS: Final = Table(
    "metrics",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("result_id", ForeignKey("results.id", ondelete="CASCADE"), nullable=False),
    Column("name_id", ForeignKey("metric_names.id"), nullable=False),
    Column("position", Integer, nullable=False),  # its place in the result
    Column("is_main", Boolean, nullable=False),
    Column("count", BigInteger),
    Column("median", Double),
    Column("low", Double),
    Column("high", Double),
    Column("cell_id", ForeignKey("cells.id"), nullable=False),  # this and what follows repeat columns of the result
    Column("commit_id", ForeignKey("commits.id")),
    Column("time", Double, nullable=False),
    UniqueConstraint("result_id", "position"),
    Index("ix_metrics_history", "cell_id", "name_id", "time", "result_id", "median"),
    Index("ix_metrics_main", "result_id", sqlite_where=text("is_main = 1"), postgresql_where=text("is_main")),
)

SAMPLES: Final = Table(
    "samples",
    METADATA,
    Column("metric_id", ForeignKey("metrics.id", ondelete="CASCADE"), primary_key=True),
    Column("side", String(1), primary_key=True),  # "t" for the result's own, "c" for the control's
    Column("count", Integer, nullable=False),
    Column("encoding", SmallInteger, nullable=False),  # see harness.store.database.packing
    Column("numbers", LargeBinary, nullable=False),  # the samples, in measured order
    Column("launches", LargeBinary, nullable=False),  # the launch of each, as lengths of runs
)

CONTRASTS: Final = Table(
    "contrasts",
    METADATA,
    Column("result_id", ForeignKey("results.id", ondelete="CASCADE"), primary_key=True),
    Column("cell_id", ForeignKey("cells.id"), nullable=False),
    Column("name_id", ForeignKey("metric_names.id"), nullable=False),
    Column("commit_id", ForeignKey("commits.id")),
    Column("control_id", ForeignKey("commits.id"), nullable=False),
    Column(
        "time", Double, nullable=False
    ),  # of the result, as the next one: of comparisons made again the newest counts
    Column("started", Double, nullable=False),
    Column("verdict", String, nullable=False),  # the one that counts
    Column("log_ratio", Double),
    Column("low_log_ratio", Double),
    Column("high_log_ratio", Double),
    Column("pairs", Integer, nullable=False),
    Column("outputs", String, nullable=False, default=""),
    Index(None, "verdict", "time"),
    Index(None, "cell_id", "time"),
    Index("ix_contrasts_commit", "commit_id", "cell_id", "control_id", "started", "verdict"),
    Index(None, "control_id"),
)

ARTIFACTS: Final = Table(
    "artifacts",
    METADATA,
    Column("digest", String, primary_key=True),  # SHA-256 of the content
    Column("size_bytes", BigInteger, nullable=False),
    Column("media_type", String, nullable=False),
    Column("stored", Double, nullable=False),
)

ARTIFACTS_OF_RESULTS: Final = Table(
    "artifacts_of_results",
    METADATA,
    Column("result_id", ForeignKey("results.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    Column("digest", ForeignKey("artifacts.digest"), nullable=False),
    Index(None, "digest"),
)

ALARMS: Final = Table(
    "alarms",
    METADATA,
    Column("identity", String, primary_key=True),
    Column("cell_key", String, nullable=False),  # of a cell that need not be here: its results may be elsewhere
    Column("title", String, nullable=False),
    Column("device", String, nullable=False),  # its name for people
    Column("stage", String, nullable=False),
    Column("event", String, nullable=False),  # the latest that was reported
    Column("worse", Boolean, nullable=False),
    Column("proven", Boolean, nullable=False),  # whether it was measured again, and confirmed
    Column("log_ratio", Double, nullable=False),  # its size, by the best that is known
    Column("opened", Double, nullable=False),
    Column("updated", Double, nullable=False),
    Column("time", Double, nullable=False),  # of the first commit with the change, else `opened`
    Column("culprit", String, nullable=False, default=""),  # its id
    Column("report", LargeBinary, nullable=False),  # AlarmReport without its series, as JSON, compressed: for lists
    Column("series", LargeBinary, nullable=False),  # AlarmReport with its series alone; see `alarm_columns`
    Index(None, "cell_key", "time"),
    Index(None, "stage", "time"),
    Index(None, "time"),
)

ALARM_COMMITS: Final = Table(
    "alarm_commits",
    METADATA,
    Column("alarm", ForeignKey("alarms.identity", ondelete="CASCADE"), primary_key=True),
    Column("commit", String, primary_key=True),  # id of a commit in question, or of a culprit
    Column("cell_key", String, nullable=False),  # of the alarm
    Index(None, "cell_key", "commit"),
)

ALARM_REMARKS: Final = Table(
    "alarm_remarks",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("alarm", ForeignKey("alarms.identity", ondelete="CASCADE"), nullable=False),
    Column("action", String, nullable=False),
    Column("person", String, nullable=False),
    Column("time", Double, nullable=False),
    Column("text", Text, nullable=False, default=""),
    Column("until", Double),
    Index(None, "alarm", "time"),
)

TOKENS: Final = Table(
    "tokens",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("digest", String, nullable=False, unique=True),  # SHA-256 of the token; the token itself is nowhere
    Column("scopes", String, nullable=False),  # words separated by spaces: read, write, request, ...
    Column("created", Double, nullable=False),
    Column("expires", Double),
    Column("revoked", Double),
    Column("used", Double),  # day of the last use
)

RUN_REQUESTS: Final = Table(
    "run_requests",
    METADATA,
    Column("id", String, primary_key=True),  # from the person and the key that the client chose
    Column("person", String, nullable=False),
    Column("asked", Double, nullable=False),
    Column("specification", String, nullable=False),
    Column("benchmark", String, nullable=False, default=""),  # "" for all
    Column("device_class", String, nullable=False),
    Column("state", String, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("claim", String, nullable=False, default=""),  # chosen by the lab that has it; "" without one
    Column("lease", Double),  # end of the time for which it is that lab's; until then a queued one rests
    Column("started", Double),
    Column("finished", Double),
    Column("results", Text, nullable=False, default="[]"),  # uids, as JSON
    Column("reason", Text, nullable=False, default=""),
    Column("repository", String, nullable=False, server_default=""),  # "" for the runner that is installed
    Column("commit", String, nullable=False, server_default=""),  # as the person named it
    Column("control", String, nullable=False, server_default=""),
    Column("pairs", Integer, nullable=False, server_default="0"),
    Column("commit_id", String, nullable=False, server_default=""),  # what the name meant when it was begun first
    Column("control_id", String, nullable=False, server_default=""),
    Index(None, "asked"),
    Index(None, "claim"),
    Index(None, "person", "started"),
    Index(None, "state", "lease"),
)

LAB_OFFERS: Final = Table(
    "lab_offers",
    METADATA,
    Column("dispatcher", String, primary_key=True),
    Column("until", Double, nullable=False),
    Column("offer", Text, nullable=False),  # LabOffer as JSON
)

DEVICE_DOUBTS: Final = Table(
    "device_doubts",
    METADATA,
    Column("device", String, primary_key=True),  # its identity
    Column("since", Double, primary_key=True),
    Column("resolved", Boolean, nullable=False),
    Column("doubt", Text, nullable=False),  # DeviceDoubt as JSON
)
