"""A runtime that breaks the rules: what it is told to send goes out, and what came back is its answer."""

import http.client
import json
import os

PREFIX = "/2018-06-01/runtime"


def call(method, path, body=None, headers=None):
    connection = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    return response, response.read()


before = []
if os.environ.get("BEFORE_NEXT"):
    response, body = call("POST", f"{PREFIX}/invocation/none/response", b"early")
    before = [response.status, body.decode()]
last = ""
after = None
while True:
    response, event = call("GET", f"{PREFIX}/invocation/next")
    request_id = response.getheader("Lambda-Runtime-Aws-Request-Id")
    asked = json.loads(event)
    path = asked.get("path", "").replace("{id}", request_id).replace("{last}", last)
    if asked["do"] == "before":
        made = before
    elif asked["do"] == "after":
        made = after
    elif asked["do"] == "next":
        again, body = call("GET", f"{PREFIX}/invocation/next")
        made = [
            again.status,
            json.loads(body) == asked,
            again.getheader("Lambda-Runtime-Aws-Request-Id") == request_id,
        ]
    elif asked["do"] == "then":  # something after its answer
        made = "answered"
    else:
        body = b"x" * asked["size"] if "size" in asked else asked.get("body", "").encode()
        answered, text = call(asked["method"], path, body, asked.get("headers"))
        made = [answered.status, answered.getheader("Content-Type"), text.decode()]
    answered, text = call("POST", f"{PREFIX}/invocation/{request_id}/response", json.dumps(made))
    if asked["do"] == "then":
        response, body = call(asked["method"], path, b"{}", asked.get("headers"))
        after = [response.status, body.decode()]
    last = request_id
