"""`isinglass keygen`: a key to sign models with, and its public side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isinglass.cli import options, show


def keygen(
    out: Annotated[Path, options.out("The private key; the public one is OUT with .pub.")],
    lock: options.Lock = False,
    passphrase_file: options.PassphraseFile = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Make a key to sign models with: OUT stays with you, OUT.pub is for those who score.

    Tell readers the fingerprint by another way than you send models. Example:

    isinglass keygen -o hospital
    """
    from isinglass.cli.options import passphrase
    from isinglass.signing import SigningKey, write_keys

    key = SigningKey.draw()
    public = write_keys(
        out, key, passphrase=passphrase(lock, passphrase_file, new=True), force=force
    )
    fingerprint = key.signer.fingerprint
    if as_json:
        document = {"private": str(out), "public": str(public), "fingerprint": fingerprint}
        show.print_json(document)
        return
    show.echo(f"private      {out}  (stays with you: anyone who has it can sign in your name)")
    show.echo(f"public       {public}  (for those who score with your models)")
    show.echo(f"fingerprint  {fingerprint}")
