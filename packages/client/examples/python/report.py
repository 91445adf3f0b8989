import os

from vault import AuthenticatedClient
from vault.api.secrets import secret_read_by_name
from vault.models import SecretWithValue

client = AuthenticatedClient(base_url=os.environ["VAULT_URL"] + "/api/v1", token=os.environ["VAULT_TOKEN"])
secret = secret_read_by_name.sync(os.environ["VAULT_ORG"], "REPORT_TOKEN", client=client)
if not isinstance(secret, SecretWithValue):
    raise SystemExit(f"the vault refused it: {secret.error.code.value}: {secret.error.message}")
print(f"{secret.name}, version {secret.version}, has {len(secret.value)} characters")
