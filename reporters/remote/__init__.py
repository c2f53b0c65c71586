"""Post every result to a server, and lose none: `--remote-reporter 'URL|category'`.

    POST <URL>
    Authorization: Bearer <token>
    Content-Type: application/json
    Idempotency-Key: <uid of the result>
    User-Agent: edge-harness/<version>

    {"schema_version": "1.0", "category": "<category>", "result": {the canonical result}}

A URL without a path, such as `http://lab:8080`, means `/api/v1/results`; `http://lab:8080/` is the root. Where the path
ends so, the server is one of the harness: it gets compressed batches (`reporters.remote.batches`). Any other gets one
plain envelope at a time, as above.

Any 2xx means received. A result is on the disk before it is posted (`reporters.remote.spool`, below
`<cache_dir>/spool/<digest of URL and category>`). A thread posts it while the run goes on (`reporters.remote.sender`),
so no measurement waits for a server; what cannot be sent then is sent at the end of the run, by a later one, or by
`harness report --flush`. The end of the run says what was not received, and why. 401, 403, 408, 429, 5xx, redirects and
silence keep a result in the spool; any other 4xx means that it will never be accepted, and moves it to `dead/` with the
reason. A server sees the key again when an answer was lost, and answers 2xx then too.

`harness.config.remote_target` finds the token. Over `http://` it travels unencrypted; that is for servers on this
machine or in a closed network.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from harness.config.settings import Settings, default_config_dir

if TYPE_CHECKING:
    from reporters.remote.reporter import RemoteReporter


def create(settings: Settings) -> RemoteReporter | None:
    """Create the reporter for `--remote-reporter`, if given.

    Raises:
        UsageError: It is not `URL|category`, or the token cannot be one.
        EnvironmentProblem: The token's file cannot be read, or others can read it.
    """
    if settings.remote_reporter is None:
        return None
    # Each run asks whether results are to be sent: only where they are, it loads what sends them.
    from harness.config.remote_target import RemoteTarget, find_token  # noqa: PLC0415
    from reporters.remote.endpoint import Endpoint  # noqa: PLC0415
    from reporters.remote.reporter import RemoteReporter  # noqa: PLC0415
    from reporters.remote.spool import Spool  # noqa: PLC0415

    target = RemoteTarget.parse(settings.remote_reporter)
    token = find_token(os.environ, default_config_dir())
    return RemoteReporter(Endpoint(target, token), Spool(settings.cache_dir / "spool" / target.digest))
