"""Many models in one function: which one is asked for, where it lies, and which of them are in memory.

`index` knows them by name, `tenants` who may ask for which, `shelf` keeps as many open as memory holds, `remote`
fetches those that lie in S3, `choice` answers direct requests and batches, `routes` those over HTTP. A function of
one model carries none of this.
"""
