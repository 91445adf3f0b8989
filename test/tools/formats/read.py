"""Reads generated files with Ansible's loader, with PyYAML and with systemd's own parser; prints each as a JSON object of base64 strings."""

import base64
import ctypes
import glob
import inspect
import json
import sys


def ansible(path):
    """As a task sees them: templated, which leaves alone what is unsafe. Needs ansible-core."""
    from ansible.parsing.dataloader import DataLoader
    from ansible.template import Templar

    loader = DataLoader()
    # From 2.19 on a file is trusted only where its caller says so.
    trusts = "trusted_as_template" in inspect.signature(loader.load_from_file).parameters
    read = loader.load_from_file(path, **({"trusted_as_template": True} if trusts else {}))
    templar = Templar(loader=loader, variables=read)
    values = {name: templar.template(value) for name, value in read.items()}
    for name, value in values.items():
        if not isinstance(value, str):
            raise SystemExit(f"{name} is no string but {type(value).__name__}")
    return values


def pyyaml(path):
    """YAML 1.1, by the loader that is in use in most Python programs. Needs PyYAML."""
    import yaml

    yaml.SafeLoader.add_constructor("!unsafe", lambda loader, node: node.value)
    with open(path, "rb") as file:
        return yaml.safe_load(file)


def systemd(path):
    """load_env_file() and env_value_is_valid() of systemd: what the service manager reads EnvironmentFile= with."""
    [library] = glob.glob("/usr/lib/*/systemd/libsystemd-shared-*.so") or glob.glob("/usr/lib/systemd/libsystemd-shared-*.so")
    shared = ctypes.CDLL(library)
    found = ctypes.POINTER(ctypes.c_char_p)()
    shared.load_env_file.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    code = shared.load_env_file(None, path.encode(), ctypes.byref(found))
    if code < 0:
        raise SystemExit(f"load_env_file: {code}")
    read = {}
    at = 0
    while found and found[at] is not None:
        name, value = found[at].split(b"=", 1)
        if not shared.env_value_is_valid(value):
            raise SystemExit(f"{name.decode()}: the service manager drops it")
        read[name.decode()] = value
        at += 1
    return read


readers = {"ansible": ansible, "pyyaml": pyyaml, "systemd": systemd}
# READER FILE, as often as wanted: one line of JSON for each.
for reader, path in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    values = {
        name: base64.b64encode(value if isinstance(value, bytes) else str(value).encode()).decode()
        for name, value in readers[reader](path).items()
    }
    print(json.dumps(values))
