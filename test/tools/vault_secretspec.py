"""What programs in Python do with SecretSpec, unchanged. Prints the secrets that it resolves as JSON."""

import json
import sys

import secretspec

builder = secretspec.SecretSpec.builder().with_provider(sys.argv[1]).with_reason("a test")
print(json.dumps({name: secret.value for name, secret in builder.load().secrets.items()}))
