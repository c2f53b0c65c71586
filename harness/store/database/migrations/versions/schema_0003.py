"""Runs that persons ask for, and what labs offer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema forward."""
    op.create_table(
        "run_requests",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("asked", sa.Double(), nullable=False),
        sa.Column("specification", sa.String(), nullable=False),
        sa.Column("benchmark", sa.String(), nullable=False),
        sa.Column("device_class", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("claim", sa.String(), nullable=False),
        sa.Column("lease", sa.Double(), nullable=True),
        sa.Column("started", sa.Double(), nullable=True),
        sa.Column("finished", sa.Double(), nullable=True),
        sa.Column("results", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_requests")),
    )
    op.create_index(op.f("ix_run_requests_asked"), "run_requests", ["asked"])
    op.create_index(op.f("ix_run_requests_claim"), "run_requests", ["claim"])
    op.create_index(op.f("ix_run_requests_person_started"), "run_requests", ["person", "started"])
    op.create_index(op.f("ix_run_requests_state_lease"), "run_requests", ["state", "lease"])
    op.create_table(
        "lab_offers",
        sa.Column("dispatcher", sa.String(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("offer", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("dispatcher", name=op.f("pk_lab_offers")),
    )
