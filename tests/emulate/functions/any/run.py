"""Runs the code that its events hold; what that leaves in `answer` is the answer."""

import http.client
import json
import os
import time

exec(os.environ.get("AT_INIT", ""))
connection = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
kept = {}
if os.environ["AWS_LAMBDA_INITIALIZATION_TYPE"] == "snap-start":
    kept["before"] = time.time()
    connection.request("GET", "/2018-06-01/runtime/restore/next")
    kept["restored"] = connection.getresponse().status
    connection.close()
while True:
    connection.request("GET", "/2018-06-01/runtime/invocation/next")
    response = connection.getresponse()
    event, request_id = json.loads(response.read()), response.headers["Lambda-Runtime-Aws-Request-Id"]
    scope = {"event": event, "answer": None, "kept": kept, "headers": dict(response.headers)}
    body = event.get("body", "") if "requestContext" in event else event.get("code", "")
    headers = {}
    try:
        if event.get("isBase64Encoded"):
            scope["answer"] = event
        else:
            exec(body or "answer = event", scope)
        answer = scope.get("raw") or json.dumps(scope["answer"])
        where = "response"
    except Exception as error:
        answer = json.dumps({"errorType": type(error).__name__, "errorMessage": str(error)})
        where, headers = "error", {"Lambda-Runtime-Function-Error-Type": type(error).__name__}
    connection.request("POST", f"/2018-06-01/runtime/invocation/{request_id}/{where}", answer, headers)
    connection.getresponse().read()
    if "after" in scope:
        exec(scope["after"], scope)
