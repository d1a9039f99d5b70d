"""What can go wrong inside a function.

Fault
├── LoadError        the function itself is broken: a part is missing or does not fit
├── EngineError      the engine refused to open or run the model
├── CodeError        custom code did not keep to its contract, as with an answer that has no JSON form
└── BadRequest       the caller's mistake: answered with a status and a sentence, never logged as ours
"""


class Fault(Exception):
    """The root of all errors that this runtime raises on purpose."""


class LoadError(Fault):
    pass


class EngineError(Fault):
    pass


class CodeError(Fault):
    pass


class BadRequest(Fault):
    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None):
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers or {}
