"""All errors that coldpress raises on purpose. Every message says what, the value, the limit, the next step.

ColdpressError
├── UsageError           the command was used wrongly (exit code 2)
├── MissingExtra         an optional part is not installed; the message has the install line
├── MissingPart          a program that this needs is not on this machine
├── IntakeError
│   ├── ModelNotFound    there is no such model
│   └── UnsupportedModel the model is there, and cannot be pressed as asked
├── ExportError          PyTorch could not turn the model into a graph
├── DriftError           the pressed model's answers are too far from the original's
├── TooLarge             the function does not fit what it was to be packed as
├── TargetError          the folder to write to cannot be used
├── RegistryError        a registry of images refused, broke off, or gave something else than it was asked for
├── DeployError          AWS refused a call, or did not come to its end
├── Interrupted          a person stopped it, and something is left of it (exit code 130)
├── PriceListError       AWS's price list cannot be had, or is not what it was
├── ArtifactError        a folder is not an artifact, or one that another version made
└── FunctionError        the function did not answer: it crashed, timed out, or refused to start
"""


class ColdpressError(Exception):
    """The root. `exit_code` is what the command line ends with."""

    exit_code = 1


class UsageError(ColdpressError):
    exit_code = 2


class MissingExtra(ColdpressError):
    def __init__(self, extra: str, module: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {module}, which is not installed: pip install 'coldpress[{extra}]'")


class MissingPart(ColdpressError):
    pass


class IntakeError(ColdpressError):
    pass


class ModelNotFound(IntakeError):
    pass


class UnsupportedModel(IntakeError):
    pass


class ExportError(ColdpressError):
    pass


class DriftError(ColdpressError):
    pass


class TooLarge(ColdpressError):
    pass


class TargetError(ColdpressError):
    pass


class RegistryError(ColdpressError):
    """`status` is what the registry answered with; 0 if it did not answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class DeployError(ColdpressError):
    pass


class Interrupted(ColdpressError):
    """A person stopped it, and something is left of it."""

    exit_code = 130


class PriceListError(ColdpressError):
    pass


class ArtifactError(ColdpressError):
    pass


class FunctionError(ColdpressError):
    pass
