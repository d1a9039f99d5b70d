"""How a function is run, and what it is told of it."""

import time
from dataclasses import dataclass, field

from coldpress.emulate.sandboxes.invocation import ACCOUNT, REGION

INIT_TIMEOUT = 10.0
#: Lambda adds so many environments to a function in any ten seconds
SCALE_UP = 1000


@dataclass(frozen=True)
class Settings:
    name: str = "function"
    memory_mb: int = 1769
    timeout: float = 30.0
    #: invocations under way at most, each in a sandbox of its own
    concurrency: int = 10
    #: sandboxes that are started ahead and stay
    provisioned: int = 0
    #: seconds until one that nobody needs is taken down
    idle: float = 300.0
    init_timeout: float = INIT_TIMEOUT
    env: dict[str, str] = field(default_factory=dict)
    #: invocations in one sandbox: more than one on Managed Instances
    at_once: int = 1
    snap_start: bool = False
    json_log: bool = False
    arch: str = "x86_64"
    scale_up: int = SCALE_UP

    @property
    def arn(self) -> str:
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{self.name}"

    def environment(self, sandbox: str, kind: str) -> dict[str, str]:
        """Lambda's variables, and the function's own."""
        today = time.strftime("%Y/%m/%d", time.gmtime())
        return {
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
            "_HANDLER": "handler.lambda_handler",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EXECUTION_ENV": "AWS_Lambda_local",
            # Code that asks for credentials finds some, and none that open anything.
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_SESSION_TOKEN": "local",
            "AWS_LAMBDA_FUNCTION_NAME": self.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(self.memory_mb),
            "AWS_LAMBDA_INITIALIZATION_TYPE": kind,
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{self.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": f"{today}/[$LATEST]{sandbox}",
            "AWS_LAMBDA_LOG_FORMAT": "JSON" if self.json_log else "Text",
            **({"AWS_LAMBDA_MAX_CONCURRENCY": str(self.at_once)} if self.at_once > 1 else {}),
            **self.env,
        }
