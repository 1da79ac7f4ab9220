#!/usr/bin/env python3
"""Signed records, receipts and records in CBOR against other programs: `pycose` (COSE), `scitt-cose` (receipts of
transparency logs) and `cbor2` (CBOR).

Signatures of the command are verified by pycose, and signatures of pycose by the command; cbor2 reads the headers and
the tree head, and encodes the tree head to the same bytes again. Each direction is also tried with a changed byte,
which must fail. Receipts of the command are verified by scitt-cose. Records in CBOR are read by cbor2 and encoded to the same
bytes. The script installs the packages into a virtual environment.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# pycose 1.1.0 does not work with cbor2 6.
PACKAGES = ["pycose==1.1.0", "cbor2==5.6.5", "scitt-cose==0.5.0"]


def in_environment(tools):
    """Restarts the script in an environment with the packages."""
    folder = tools / "record-venv"
    python = folder / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == folder.resolve():
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    found = subprocess.run([python, "-c", "import pycose, cbor2, scitt_cose"], capture_output=True, check=False)
    if found.returncode:
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], check=True)
    os.execv(python, [str(python), *sys.argv])


class Suite:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.failures, self.count = binary, folder, [], 0

    def check(self, name, holds):
        self.count += 1
        print(("ok    " if holds else "FAILED ") + name)
        if not holds:
            self.failures.append(name)

    def run(self, *args):
        return subprocess.run([self.binary, *map(str, args)], capture_output=True, text=True, check=False)

    def must(self, *args):
        done = self.run(*args)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, args))}: exit code {done.returncode}\n{done.stderr}")
        return done

    def verdict(self, *args):
        """The exit code and the JSON report of `verify`."""
        done = self.run("verify", *args, "--json")
        return done.returncode, json.loads(done.stdout) if done.stdout else {}


def cose_keys(pem):
    """The private key of a PEM file as a key of pycose, and its algorithm."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from pycose.algorithms import EdDSA, Es256
    from pycose.keys import EC2Key, OKPKey

    key = serialization.load_pem_private_key(pem.read_bytes(), password=None)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        numbers = key.private_numbers()
        part = lambda number: number.to_bytes(32, "big")  # noqa: E731
        public = numbers.public_numbers
        return EC2Key(crv="P_256", x=part(public.x), y=part(public.y), d=part(numbers.private_value)), Es256
    raw = serialization.Encoding.Raw
    public = key.public_key().public_bytes(raw, serialization.PublicFormat.Raw)
    private = key.private_bytes(raw, serialization.PrivateFormat.Raw, serialization.NoEncryption())
    return OKPKey(crv="ED25519", x=public, d=private), EdDSA


def accepted_by_pycose(encoded, key, detached=None):
    from pycose.messages import CoseMessage

    message = CoseMessage.decode(encoded)
    message.key = key
    if detached is None:
        return message.verify_signature()
    return message.verify_signature(detached_payload=detached)


def ours_to_theirs(suite, name, private, public, record):
    import cbor2

    key, _ = cose_keys(private)
    payload = record.read_bytes()
    attached, detached = suite.folder / f"{name}-a.cose", suite.folder / f"{name}-d.cose"
    suite.must("sign", record, "--key", private, "--signer", "Ann", "-o", attached)
    suite.must("sign", record, "--key", private, "--signer", "Ann", "--detached", "-o", detached)
    suite.check(f"{name}: pycose accepts our attached signature", accepted_by_pycose(attached.read_bytes(), key))
    suite.check(f"{name}: pycose accepts our detached signature", accepted_by_pycose(detached.read_bytes(), key, payload))
    changed = payload.replace(b"session", b"sessiom", 1)
    suite.check(f"{name}: pycose refuses a changed record", not accepted_by_pycose(detached.read_bytes(), key, changed))
    tag = cbor2.loads(attached.read_bytes())
    protected, unprotected, content, _ = tag.value
    suite.check(f"{name}: the file is one item with the tag 18", tag.tag == 18 and len(tag.value) == 4)
    suite.check(f"{name}: the payload is the exact record", content == payload)
    header = cbor2.loads(protected)
    suite.check(f"{name}: the claims name the signer", header[15][1] == "Ann" and header[15][2] == unprotected[100]["session-id"])
    suite.check(f"{name}: the protected header is deterministic", cbor2.dumps(header, canonical=True) == protected)
    head = unprotected["tree-head"]
    suite.check(f"{name}: pycose accepts our tree head", accepted_by_pycose(head, key))
    tree = cbor2.loads(head).value[2]
    suite.check(f"{name}: the tree head is deterministic", cbor2.dumps(cbor2.loads(tree), canonical=True) == tree)
    entries = len(json.loads(payload)["session"]["entries"])
    suite.check(f"{name}: the tree head counts the entries", cbor2.loads(tree)["size"] == entries)
    code, _ = suite.verdict(attached, "--key", public)
    suite.check(f"{name}: the command accepts its own signature", code == 0)


def theirs_to_ours(suite, name, private, public, record):
    import cbor2
    from pycose.headers import Algorithm, ContentType, KID
    from pycose.messages import Sign1Message

    key, algorithm = cose_keys(private)
    payload = record.read_bytes()
    session = json.loads(payload)["session"]["session-id"]

    def signed(headers, unprotected=None, detached=False):
        message = Sign1Message(phdr={Algorithm: algorithm, **headers}, uhdr=unprotected or {}, payload=payload)
        message.key = key
        if not detached:
            return message.encode()
        item = cbor2.loads(message.encode())
        return cbor2.dumps(cbor2.CBORTag(18, [*item.value[:2], None, item.value[3]]))

    claims = {15: {1: "Bob", 2: session}, ContentType: "application/agent-conversation", KID: b"11"}
    file = suite.folder / f"{name}-theirs.cose"

    def verdict(encoded, *args):
        file.write_bytes(encoded)
        return suite.verdict(file, "--key", public, *args)

    code, found = verdict(signed(claims))
    suite.check(f"{name}: the command accepts the signature of pycose", code == 0 and found["bytes"]["signer"] == "Bob")
    suite.check(f"{name}: and reports that it has no tree head", found["tree"]["status"] == "absent")
    code, found = verdict(signed(claims, detached=True), "--record", record)
    suite.check(f"{name}: the command accepts a detached signature of pycose", code == 0)
    code, found = verdict(signed(claims), "--record", record)
    suite.check(f"{name}: the command refuses a second payload", code == 3 and "second record" in found["reason"])
    code, found = verdict(signed({}))
    suite.check(f"{name}: the command refuses a signature without claims", code == 3 and "no signer" in found["bytes"]["reason"])
    code, found = verdict(signed({**claims, 15: {1: "Bob", 2: "other"}}))
    suite.check(f"{name}: the command refuses another session", code == 3 and "session `other`" in found["bytes"]["reason"])
    forged = {100: {"session-id": session, "agent-vendor": "x", "trace-format": "ietf-vac-v3.0", "timestamp-start": "now"}}
    code, found = verdict(signed(claims, forged))
    suite.check(f"{name}: the command refuses forged metadata", code == 3 and "trace metadata" in found["bytes"]["reason"])
    encoded = bytearray(signed(claims))
    encoded[-1] ^= 1
    code, found = verdict(bytes(encoded))
    suite.check(f"{name}: the command refuses a changed signature", code == 3)


def receipts(suite, private, record):
    """Receipts of the local log, verified by scitt-cose; each also with a change that it must refuse."""
    import hashlib

    import cbor2
    from scitt_cose.receipt import verify_receipt

    log_key = suite.folder / "log.pem"
    suite.must("keygen", log_key)
    public = log_key.with_name(log_key.name + ".pub").read_bytes()
    log = suite.folder / "transparency-log"
    for number in range(5):
        signed, registered = suite.folder / f"r{number}.cose", suite.folder / f"r{number}-registered.cose"
        suite.must("sign", record, "--key", private, "--signer", f"Ann {number}", "--digest", "-o", signed)
        suite.must("log", "append", log, signed, "--key", log_key, "--origin", "example.org/log", "-o", registered)
        protected, unprotected, payload, signature = cbor2.loads(registered.read_bytes()).value
        # An entry of the log is the SHA-256 of the file without its unprotected header.
        bare = cbor2.dumps(cbor2.CBORTag(18, [protected, {}, payload, signature]))
        entry = hashlib.sha256(bare).digest()
        (receipt,) = unprotected[394]

        def accepts(receipt, entry, key=public):
            return verify_receipt(receipt, leaf_entry_hex=entry.hex(), log_public_key_pem=key).ok

        found = verify_receipt(receipt, leaf_entry_hex=entry.hex(), log_public_key_pem=public)
        suite.check(f"receipt {number}: scitt-cose accepts it {found.errors}", found.ok)
        suite.check(f"receipt {number}: not for another file", not accepts(receipt, hashlib.sha256(b"other").digest()))
        changed = bytearray(receipt)
        changed[-1] ^= 1
        suite.check(f"receipt {number}: not with another signature", not accepts(bytes(changed), entry))
        other = private.with_name(private.name + ".pub").read_bytes()
        suite.check(f"receipt {number}: not by another log", not accepts(receipt, entry, other))


def in_cbor(suite):
    """A record in CBOR, read by cbor2: one tagged map in the deterministic encoding, with the values of the JSON record."""
    import cbor2

    for profile in ["v3", "v2"]:
        plain, encoded = suite.folder / f"{profile}.json", suite.folder / f"{profile}.acr"
        log = REPOSITORY / "examples" / "claude-code.jsonl"
        suite.must("convert", "-q", log, "--to", "record", "--profile", profile, "-o", plain)
        suite.must("convert", "-q", log, "--to", "record", "--profile", profile, "--encoding", "cbor", "-o", encoded)
        tag = cbor2.loads(encoded.read_bytes())
        suite.check(f"{profile}: cbor2 reads one map with the tag 4149", tag.tag == 4149 and "session" in tag.value)
        same = cbor2.dumps(tag, canonical=True) == encoded.read_bytes()
        suite.check(f"{profile}: cbor2 encodes the record to the same bytes", same)
        ours, theirs = json.loads(plain.read_bytes())["session"]["entries"], tag.value["session"]["entries"]
        suite.check(f"{profile}: cbor2 reads the same types", [e["type"] for e in ours] == [e["type"] for e in theirs])
        text = lambda value: json.loads(value.value) if isinstance(value, cbor2.CBORTag) else value  # noqa: E731
        contents = [(e.get("content"), text(o.get("content"))) for e, o in zip(ours, theirs)]
        suite.check(f"{profile}: cbor2 reads the same contents", all(one == other for one, other in contents))
        restored = suite.folder / f"{profile}.jsonl"
        suite.must("convert", "-q", encoded, "--to", "claude-code", "--strict", "-o", restored)
        suite.check(f"{profile}: the log comes back", restored.read_bytes() == log.read_bytes())
        suite.must("check", "-q", encoded)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    parser.add_argument("--bin", default=target / "release" / "interlingua", help="the command")
    parser.add_argument("--tools", type=pathlib.Path, default=REPOSITORY / "target" / "tools", help="the folder of the packages")
    args = parser.parse_args()
    in_environment(args.tools)
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(args.bin, pathlib.Path(folder))
        record = suite.folder / "record.json"
        suite.must("convert", "-q", REPOSITORY / "examples" / "claude-code.jsonl", "--to", "record", "-o", record)
        in_cbor(suite)
        for name in ["ed25519", "es256"]:
            private = suite.folder / f"{name}.pem"
            suite.must("keygen", private, "--alg", name)
            public = private.with_name(private.name + ".pub")
            ours_to_theirs(suite, name, private, public, record)
            theirs_to_ours(suite, name, private, public, record)
        receipts(suite, suite.folder / "ed25519.pem", record)
        print(f"{suite.count - len(suite.failures)} of {suite.count} checks hold")
        return 1 if suite.failures else 0


if __name__ == "__main__":
    sys.exit(main())
