"""Many models in one function: those that are asked for are pressed, and all of them put together.

`asked` reads what a person said, `tenants` who may use what, `combine` makes the function, `store` the files of
models that will lie in S3. What such a function does when it runs is in `coldpress_runtime.many`.
"""
