"""Asks for work in as many threads as it may."""

import http.client
import json
import os
import threading
import time


def work():
    connection = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    while True:
        connection.request("GET", "/2018-06-01/runtime/invocation/next")
        response = connection.getresponse()
        event, request_id = json.loads(response.read()), response.headers["Lambda-Runtime-Aws-Request-Id"]
        time.sleep(event["seconds"])
        answer = {"process": os.getpid(), "concurrency": os.environ["AWS_LAMBDA_MAX_CONCURRENCY"]}
        connection.request("POST", f"/2018-06-01/runtime/invocation/{request_id}/response", json.dumps(answer))
        connection.getresponse().read()


for _ in range(int(os.environ["AWS_LAMBDA_MAX_CONCURRENCY"])):
    threading.Thread(target=work).start()
