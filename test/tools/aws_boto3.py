"""What programs in Python do with boto3, unchanged. Prints what it saw as JSON."""

import json
import os

import boto3
from botocore.exceptions import ClientError

client = boto3.client("secretsmanager")
seen = {}


def refused(call, **members):
    try:
        call(**members)
        return None
    except ClientError as error:
        return error.response["Error"]["Code"]


made = client.create_secret(
    Name="py/db", SecretString='{"user":"app"}', Tags=[{"Key": "team", "Value": "core"}]
)
seen["arn"] = made["ARN"].startswith("arn:aws:secretsmanager:eu-central-1:000000000000:secret:py/db-")
seen["exists"] = refused(client.create_secret, Name="py/db", SecretString="x")
put = client.put_secret_value(SecretId=made["ARN"], SecretBinary=b"\x00\xff")
seen["stages"] = put["VersionStages"]
seen["binary"] = client.get_secret_value(SecretId="py/db")["SecretBinary"].hex()
seen["previous"] = client.get_secret_value(SecretId="py/db", VersionStage="AWSPREVIOUS")["SecretString"]
seen["version"] = client.get_secret_value(SecretId="py/db", VersionId=made["VersionId"])["VersionStages"]
shown = client.describe_secret(SecretId="py/db")
seen["labels"] = sorted(label for labels in shown["VersionIdsToStages"].values() for label in labels)
seen["created"] = shown["CreatedDate"].year > 2025
client.tag_resource(SecretId="py/db", Tags=[{"Key": "a", "Value": "b"}])
client.untag_resource(SecretId="py/db", TagKeys=["team"])
seen["tags"] = client.describe_secret(SecretId="py/db")["Tags"]
client.update_secret(SecretId="py/db", Description="main", SecretString="three")
pages = client.get_paginator("list_secrets").paginate(Filters=[{"Key": "name", "Values": ["py/"]}])
seen["names"] = [secret["Name"] for page in pages for secret in page["SecretList"]]
batch = client.batch_get_secret_value(SecretIdList=["py/db", "no"])
seen["batch"] = [
    [value["SecretString"] for value in batch["SecretValues"]],
    [error["ErrorCode"] for error in batch["Errors"]],
]
seen["policy"] = "ResourcePolicy" in client.get_resource_policy(SecretId="py/db")
seen["password"] = len(client.get_random_password(PasswordLength=20)["RandomPassword"])
seen["deleted"] = client.delete_secret(SecretId="py/db")["DeletionDate"].year > 2025
seen["marked"] = refused(client.get_secret_value, SecretId="py/db")
client.restore_secret(SecretId="py/db")
seen["restored"] = client.get_secret_value(SecretId="py/db")["SecretString"]
client.delete_secret(SecretId="py/db", ForceDeleteWithoutRecovery=True)
seen["absent"] = refused(client.get_secret_value, SecretId="py/db")
key = os.environ["AWS_ACCESS_KEY_ID"]
other = boto3.client("secretsmanager", aws_access_key_id=key, aws_secret_access_key="x" * 40)
seen["wrong"] = refused(other.get_secret_value, SecretId="py/db")

try:
    from aws_secretsmanager_caching import SecretCache

    client.create_secret(Name="cached", SecretString="value")
    seen["cached"] = SecretCache(client=client).get_secret_string("cached")
except ImportError:
    pass

print(json.dumps(seen))
