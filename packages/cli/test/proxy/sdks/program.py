"""A program with boto3 as it is. With an argument, it calls the host itself, through the HTTPS proxy."""
import json
import sys

import boto3

url = sys.argv[1] + "/dynamodb" if len(sys.argv) > 1 else None
client = boto3.client("dynamodb", endpoint_url=url, region_name="us-east-1")
print(json.dumps(client.list_tables()["TableNames"]))
