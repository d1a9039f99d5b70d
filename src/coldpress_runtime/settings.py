"""The settings of a running function: environment variables, read once, few.

`posix.environ` is what `os.environ` is made from; reading it spares the import of os.
"""

from posix import environ, sched_getaffinity
from sys import modules

from coldpress_runtime.faults import LoadError

MB_PER_VCPU = 1769
#: Half a vCPU. From here on a second thread ends short requests sooner; with less it spends the quota and waits.
MB_FOR_THREADS = 880

TRACE = "_X_AMZN_TRACE_ID"
LIBRARY_LAYER = "/opt/coldpress/lib"


def variable(name: str, default: str = "") -> str:
    return environ.get(name.encode(), default.encode()).decode(errors="replace")


def choice(name: str, *allowed: str) -> str:
    """The value of a variable that takes one of a few words; the first is the default."""
    value = variable(name) or allowed[0]
    if value not in allowed:
        raise LoadError(f"{name} is {value!r}; it can be: {', '.join(allowed)}")
    return value


def metrics() -> bool:
    """Whether a line of figures is written for each request: if it is asked for, or if the log is for programs."""
    usual = ("on", "off") if variable("COLDPRESS_LOG") == "json" else ("off", "on")
    return choice("COLDPRESS_METRICS", *usual) == "on"


def carry_trace(trace_id: str) -> None:
    """What X-Ray calls this request, where all who call others look for it."""
    environ[TRACE.encode()] = trace_id.encode()
    if "os" in modules:  # which made a copy of the environment when it was imported
        # Not by os.environ itself: that would change the C library's, which other threads may be reading.
        modules["os"].environ._data[TRACE.encode()] = trace_id.encode()


def own_cpus() -> list[int]:
    """The CPUs that threads may be tied to: none outside a sandbox, where others use the process too."""
    return sorted(sched_getaffinity(0)) if variable("AWS_LAMBDA_RUNTIME_API") else []


def threads() -> int:
    """How many threads to compute with: as many as the CPUs that Lambda shows, from half a vCPU on.

    It shows two of them to small functions too, and only counts what they do together: docs/decisions/0007.
    """
    asked = variable("COLDPRESS_THREADS")
    if asked:
        if not asked.isdecimal() or not 1 <= int(asked) <= 64:
            raise LoadError(f"COLDPRESS_THREADS is {asked!r}; it must be a number from 1 to 64")
        return int(asked)
    memory = variable("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
    if not memory.isdecimal() or int(memory) < MB_FOR_THREADS:
        return 1
    shown = max(2, -(-int(memory) // MB_PER_VCPU))
    return min(shown, len(sched_getaffinity(0)))
