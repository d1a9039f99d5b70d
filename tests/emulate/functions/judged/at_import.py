"""Ends while it is imported, as the environment says."""

import os
import sys

how = os.environ["AT_IMPORT"]
if how == "raise":
    raise ValueError("no luck")
if how == "exit":
    os._exit(5)
if how == "sys-exit":
    sys.exit(6)
