"""Bulk: a model's answers to files of JSON Lines, through the local Lambda or by Step Functions on AWS."""
