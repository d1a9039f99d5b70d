"""The settings of a running function: environment variables, read once, few.

`posix.environ` is what `os.environ` is made from; reading it spares the import of os.
"""

from posix import environ, sched_getaffinity

from coldpress_runtime.faults import LoadError

MB_PER_VCPU = 1769

LIBRARY_LAYER = "/opt/coldpress/lib"


def variable(name: str, default: str = "") -> str:
    return environ.get(name.encode(), default.encode()).decode(errors="replace")


def choice(name: str, *allowed: str) -> str:
    """The value of a variable that takes one of a few words; the first is the default."""
    value = variable(name) or allowed[0]
    if value not in allowed:
        raise LoadError(f"{name} is {value!r}; it can be: {', '.join(allowed)}")
    return value


def threads() -> int:
    """How many threads to compute with: as many as the vCPUs that the memory size buys."""
    asked = variable("COLDPRESS_THREADS")
    if asked:
        if not asked.isdecimal() or not 1 <= int(asked) <= 64:
            raise LoadError(f"COLDPRESS_THREADS is {asked!r}; it must be a number from 1 to 64")
        return int(asked)
    memory = variable("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
    if not memory.isdecimal():
        return 1
    bought = -(-int(memory) // MB_PER_VCPU)
    return max(1, min(bought, len(sched_getaffinity(0))))
