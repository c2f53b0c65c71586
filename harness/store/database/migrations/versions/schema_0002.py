"""Indexes that hold all that the band of a history needs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema forward."""
    op.drop_index("ix_results_cell_id_time_started", "results")
    op.create_index("ix_results_history", "results", ["cell_id", "time", "started", "outcome", "trusted"])
    elsewhere = sa.text("origin != ''")
    op.create_index("ix_results_elsewhere", "results", ["cell_id"], sqlite_where=elsewhere, postgresql_where=elsewhere)
    op.drop_index("ix_metrics_history", "metrics")
    op.create_index("ix_metrics_history", "metrics", ["cell_id", "name_id", "time", "result_id", "median"])
