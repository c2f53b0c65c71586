"""The tables of the first version."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "alarms",
        sa.Column("identity", sa.String(), nullable=False),
        sa.Column("cell_key", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("device", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("worse", sa.Boolean(), nullable=False),
        sa.Column("proven", sa.Boolean(), nullable=False),
        sa.Column("log_ratio", sa.Double(), nullable=False),
        sa.Column("opened", sa.Double(), nullable=False),
        sa.Column("updated", sa.Double(), nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("culprit", sa.String(), nullable=False),
        sa.Column("report", sa.LargeBinary(), nullable=False),
        sa.Column("series", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("identity", name=op.f("pk_alarms")),
    )
    with op.batch_alter_table("alarms", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_alarms_cell_key_time"), ["cell_key", "time"], unique=False)
        batch_op.create_index(batch_op.f("ix_alarms_stage_time"), ["stage", "time"], unique=False)
        batch_op.create_index(batch_op.f("ix_alarms_time"), ["time"], unique=False)

    op.create_table(
        "artifacts",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("stored", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_artifacts")),
    )
    op.create_table(
        "benchmarks",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("identifier", sa.String(), nullable=False),
        sa.Column("framework", sa.String(), nullable=False),
        sa.Column("backend", sa.String(), nullable=False),
        sa.Column("threads", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_benchmarks")),
        sa.UniqueConstraint("digest", name=op.f("uq_benchmarks_digest")),
    )
    with op.batch_alter_table("benchmarks", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_benchmarks_model_identifier"), ["model", "identifier"], unique=False)

    op.create_table(
        "commits",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("sha", sa.String(), nullable=False),
        sa.Column("time", sa.Double(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("measured", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_commits")),
        sa.UniqueConstraint("source", "sha", name=op.f("uq_commits_source_sha")),
    )
    with op.batch_alter_table("commits", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_commits_measured"), ["measured"], unique=False)
        batch_op.create_index(batch_op.f("ix_commits_sha"), ["sha"], unique=False)
        batch_op.create_index(batch_op.f("ix_commits_time"), ["time"], unique=False)

    op.create_table(
        "devices",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("identity", sa.String(), nullable=False),
        sa.Column("platform", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("os", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_devices")),
        sa.UniqueConstraint("identity", name=op.f("uq_devices_identity")),
    )
    op.create_table(
        "metric_names",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("direction", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric_names")),
        sa.UniqueConstraint("name", "unit", "direction", name=op.f("uq_metric_names_name_unit_direction")),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=True),
        sa.Column("revoked", sa.Double(), nullable=True),
        sa.Column("used", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_tokens_digest")),
        sa.UniqueConstraint("name", name=op.f("uq_tokens_name")),
    )
    op.create_table(
        "alarm_commits",
        sa.Column("alarm", sa.String(), nullable=False),
        sa.Column("commit", sa.String(), nullable=False),
        sa.Column("cell_key", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["alarm"], ["alarms.identity"], name=op.f("fk_alarm_commits_alarm_alarms"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("alarm", "commit", name=op.f("pk_alarm_commits")),
    )
    with op.batch_alter_table("alarm_commits", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_alarm_commits_cell_key_commit"), ["cell_key", "commit"], unique=False)

    op.create_table(
        "alarm_remarks",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("alarm", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("until", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["alarm"], ["alarms.identity"], name=op.f("fk_alarm_remarks_alarm_alarms"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alarm_remarks")),
    )
    with op.batch_alter_table("alarm_remarks", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_alarm_remarks_alarm_time"), ["alarm", "time"], unique=False)

    op.create_table(
        "cells",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("benchmark_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("device_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("latest_result_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("latest_good_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("results", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["benchmark_id"], ["benchmarks.id"], name=op.f("fk_cells_benchmark_id_benchmarks")),
        sa.ForeignKeyConstraint(["device_id"], ["devices.id"], name=op.f("fk_cells_device_id_devices")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cells")),
        sa.UniqueConstraint("benchmark_id", "device_id", name=op.f("uq_cells_benchmark_id_device_id")),
        sa.UniqueConstraint("key", name=op.f("uq_cells_key")),
    )
    with op.batch_alter_table("cells", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_cells_device_id"), ["device_id"], unique=False)

    op.create_table(
        "results",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("uid", sa.String(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("cell_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("commit_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("category", sa.String(), nullable=False),
        sa.Column("started", sa.Double(), nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("received", sa.Double(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("trusted", sa.Boolean(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("reproduce", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["cell_id"], ["cells.id"], name=op.f("fk_results_cell_id_cells")),
        sa.ForeignKeyConstraint(["commit_id"], ["commits.id"], name=op.f("fk_results_commit_id_commits")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_results")),
        sa.UniqueConstraint("uid", name=op.f("uq_results_uid")),
    )
    with op.batch_alter_table("results", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_results_category_cell_id"), ["category", "cell_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_results_cell_id_time_started"), ["cell_id", "time", "started"], unique=False
        )
        batch_op.create_index("ix_results_commit", ["commit_id", "cell_id", "started", "outcome"], unique=False)
        batch_op.create_index(batch_op.f("ix_results_run"), ["run"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_results_started_cell_id_category"), ["started", "cell_id", "category"], unique=False
        )

    op.create_table(
        "artifacts_of_results",
        sa.Column("result_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["digest"], ["artifacts.digest"], name=op.f("fk_artifacts_of_results_digest_artifacts")
        ),
        sa.ForeignKeyConstraint(
            ["result_id"], ["results.id"], name=op.f("fk_artifacts_of_results_result_id_results"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("result_id", "name", name=op.f("pk_artifacts_of_results")),
    )
    with op.batch_alter_table("artifacts_of_results", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_artifacts_of_results_digest"), ["digest"], unique=False)

    op.create_table(
        "contrasts",
        sa.Column("result_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("cell_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("commit_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("control_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("started", sa.Double(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("log_ratio", sa.Double(), nullable=True),
        sa.Column("low_log_ratio", sa.Double(), nullable=True),
        sa.Column("high_log_ratio", sa.Double(), nullable=True),
        sa.Column("pairs", sa.Integer(), nullable=False),
        sa.Column("outputs", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["cell_id"], ["cells.id"], name=op.f("fk_contrasts_cell_id_cells")),
        sa.ForeignKeyConstraint(["commit_id"], ["commits.id"], name=op.f("fk_contrasts_commit_id_commits")),
        sa.ForeignKeyConstraint(["control_id"], ["commits.id"], name=op.f("fk_contrasts_control_id_commits")),
        sa.ForeignKeyConstraint(["name_id"], ["metric_names.id"], name=op.f("fk_contrasts_name_id_metric_names")),
        sa.ForeignKeyConstraint(
            ["result_id"], ["results.id"], name=op.f("fk_contrasts_result_id_results"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("result_id", name=op.f("pk_contrasts")),
    )
    with op.batch_alter_table("contrasts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_contrasts_cell_id_time"), ["cell_id", "time"], unique=False)
        batch_op.create_index(
            "ix_contrasts_commit", ["commit_id", "cell_id", "control_id", "started", "verdict"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_contrasts_control_id"), ["control_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_contrasts_verdict_time"), ["verdict", "time"], unique=False)

    op.create_table(
        "metrics",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("result_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("is_main", sa.Boolean(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=True),
        sa.Column("median", sa.Double(), nullable=True),
        sa.Column("low", sa.Double(), nullable=True),
        sa.Column("high", sa.Double(), nullable=True),
        sa.Column("cell_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("commit_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("time", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["cell_id"], ["cells.id"], name=op.f("fk_metrics_cell_id_cells")),
        sa.ForeignKeyConstraint(["commit_id"], ["commits.id"], name=op.f("fk_metrics_commit_id_commits")),
        sa.ForeignKeyConstraint(["name_id"], ["metric_names.id"], name=op.f("fk_metrics_name_id_metric_names")),
        sa.ForeignKeyConstraint(
            ["result_id"], ["results.id"], name=op.f("fk_metrics_result_id_results"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metrics")),
        sa.UniqueConstraint("result_id", "position", name=op.f("uq_metrics_result_id_position")),
    )
    with op.batch_alter_table("metrics", schema=None) as batch_op:
        batch_op.create_index("ix_metrics_history", ["cell_id", "name_id", "time", "median"], unique=False)
        batch_op.create_index(
            "ix_metrics_main",
            ["result_id"],
            unique=False,
            sqlite_where=sa.text("is_main = 1"),
            postgresql_where=sa.text("is_main"),
        )

    op.create_table(
        "samples",
        sa.Column("metric_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("side", sa.String(length=1), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("encoding", sa.SmallInteger(), nullable=False),
        sa.Column("numbers", sa.LargeBinary(), nullable=False),
        sa.Column("launches", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["metric_id"], ["metrics.id"], name=op.f("fk_samples_metric_id_metrics"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("metric_id", "side", name=op.f("pk_samples")),
    )
