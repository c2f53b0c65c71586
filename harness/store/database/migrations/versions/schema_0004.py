"""Devices in doubt, because a check of their health was bad; commits that persons ask for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema forward."""
    op.create_table(
        "device_doubts",
        sa.Column("device", sa.String(), nullable=False),
        sa.Column("since", sa.Double(), nullable=False),
        sa.Column("resolved", sa.Boolean(), nullable=False),
        sa.Column("doubt", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("device", "since", name=op.f("pk_device_doubts")),
    )
    with op.batch_alter_table("run_requests") as batch:
        for name in ("repository", "commit", "control", "commit_id", "control_id"):
            batch.add_column(sa.Column(name, sa.String(), nullable=False, server_default=""))
        batch.add_column(sa.Column("pairs", sa.Integer(), nullable=False, server_default="0"))
