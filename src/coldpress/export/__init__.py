"""Export: what `deploy` would make, written down for the tools that others deploy with.

`parts/` says what is made, once; `stack.py` holds it; a file for each tool writes it: CloudFormation, SAM,
Terraform, CDK. A new part of a deployment is a file in `parts/` and a line in `model.py`.
"""
