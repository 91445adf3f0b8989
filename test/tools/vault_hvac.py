"""What programs in Python, Ansible and Airflow do with hvac, unchanged. Prints what it saw as JSON."""

import json
import os

import hvac

client = hvac.Client(url=os.environ["VAULT_ADDR"], strict_http=True)
seen = {"health": client.sys.read_health_status(method="GET")["initialized"]}
seen["head"] = client.sys.read_health_status().status_code
login = client.auth.approle.login(role_id=os.environ["ROLE_ID"], secret_id=os.environ["SECRET_ID"])
seen["lease"] = login["auth"]["lease_duration"]
seen["authenticated"] = client.is_authenticated()

kv = client.secrets.kv.v2
at = {"path": "py/db", "mount_point": "production"}
kv.create_or_update_secret(secret={"user": "app", "password": "one"}, cas=0, **at)
try:
    kv.create_or_update_secret(secret={"user": "app"}, cas=0, **at)
except hvac.exceptions.InvalidRequest as error:
    seen["cas"] = error.errors
kv.patch(secret={"password": "two"}, **at)
read = kv.read_secret_version(raise_on_deleted_version=True, **at)
seen["read"] = [read["data"]["data"], read["data"]["metadata"]["version"]]
seen["earlier"] = kv.read_secret_version(version=1, raise_on_deleted_version=True, **at)["data"]["data"]
kv.update_metadata(custom_metadata={"team": "core"}, **at)
seen["metadata"] = kv.read_secret_metadata(**at)["data"]["custom_metadata"]
seen["keys"] = kv.list_secrets(path="py", mount_point="production")["data"]["keys"]
kv.delete_latest_version_of_secret(**at)
try:
    kv.read_secret_version(raise_on_deleted_version=True, **at)
except hvac.exceptions.InvalidPath:
    seen["deleted"] = True
gone = kv.read_secret_version(raise_on_deleted_version=False, **at)
seen["deletion_time"] = gone["data"]["metadata"]["deletion_time"] != ""
kv.undelete_secret_versions(versions=[2], **at)
seen["restored"] = kv.read_secret_version(raise_on_deleted_version=True, **at)["data"]["data"]
kv.delete_metadata_and_all_versions(**at)
try:
    kv.read_secret_version(raise_on_deleted_version=True, **at)
except hvac.exceptions.InvalidPath:
    seen["absent"] = True
client.auth.token.revoke_self()
seen["ended"] = not client.is_authenticated()
print(json.dumps(seen))
