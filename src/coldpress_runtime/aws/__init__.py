"""Calls to AWS from inside a function, over the standard library: importing boto3 costs 300 ms."""
