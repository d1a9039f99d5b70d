"""Answers with a hundred megabytes, as a stream."""

import http.client
import os

connection = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
headers = {"Lambda-Runtime-Function-Response-Mode": "streaming", "Transfer-Encoding": "chunked"}
while True:
    connection.request("GET", "/2018-06-01/runtime/invocation/next")
    response = connection.getresponse()
    response.read()
    path = f"/2018-06-01/runtime/invocation/{response.headers['Lambda-Runtime-Aws-Request-Id']}/response"
    pieces = (b"x" * (1 << 20) for _ in range(101))
    connection.request("POST", path, pieces, headers, encode_chunked=True)
    connection.getresponse().read()
