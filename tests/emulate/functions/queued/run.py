"""Runs the code that messages of a queue hold, one after the other; tells which of them failed."""

import http.client
import json
import os

connection = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
while True:
    connection.request("GET", "/2018-06-01/runtime/invocation/next")
    response = connection.getresponse()
    event, request_id = json.loads(response.read()), response.headers["Lambda-Runtime-Aws-Request-Id"]
    failed = []
    for record in event["Records"]:
        print("ran", record["body"], flush=True)
        try:
            exec(record["body"], {"record": record, "headers": response.headers})
        except Exception:
            failed.append({"itemIdentifier": record["messageId"]})
    answer = json.dumps({"batchItemFailures": failed})
    connection.request("POST", f"/2018-06-01/runtime/invocation/{request_id}/response", answer)
    connection.getresponse().read()
