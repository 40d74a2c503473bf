"""Where the work store is, by its address: what may be written there, and who can see it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from submits.work.keys import WorkError

# The extra of ours that brings an object store's client, by the address's scheme.
EXTRAS = {"s3": "s3", "az": "azure", "gs": "gcs"}
# Of the environment, what says to an object store's client who it is and where to ask.
_IDENTITY = {
    "s3": ("AWS_",),
    "az": ("AZURE_",),
    "gs": ("GOOGLE_", "CLOUDSDK_", "GCE_METADATA_", "STORAGE_EMULATOR_HOST"),
    "file": (),
}


@dataclass(frozen=True, slots=True)
class Place:
    """`path` is an absolute directory for the scheme `file`, else BUCKET or BUCKET/PREFIX."""

    url: str
    scheme: str
    path: str

    @staticmethod
    def of(url: str) -> Place:
        """Raises WorkError for an address that is neither a directory's nor an object store's."""
        if url.startswith("/"):  # no address but a path, in which # and % and ? are characters like others
            return Place(url, "file", url)
        parsed = urlsplit(url)
        path = unquote(parsed.path)
        if parsed.scheme in ("", "file"):
            if {"?", "#"} & set(url):
                raise WorkError(f"COORDUI_WORK_URL: in {url!r} write %3F for ? and %23 for #, or give the path alone")
            if parsed.netloc or not path.startswith("/"):
                known = "give an absolute path, file:///DIR, s3://BUCKET/PREFIX, az:// or gs://"
                raise WorkError(f"COORDUI_WORK_URL: {url!r} is not a directory; {known}")
            return Place(url, "file", path)
        if parsed.scheme not in EXTRAS:
            raise WorkError(
                f"COORDUI_WORK_URL: {parsed.scheme}:// is not known; give a directory, s3://, az:// or gs://"
            )
        parts = [parsed.netloc, *filter(None, path.split("/"))]
        if not parsed.netloc or "@" in parsed.netloc or parsed.query or parsed.fragment or ".." in parts:
            # It is not repeated: somebody may have written a key into it.
            sentence = f"give {parsed.scheme}://BUCKET/PREFIX and nothing else"
            raise WorkError(f"COORDUI_WORK_URL: {sentence}; credentials come from the environment")
        return Place(url, parsed.scheme, "/".join(parts))


def identity(url: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that the client of this store needs; nothing for a directory."""
    known = _IDENTITY[Place.of(url).scheme]
    return {name: value for name, value in environment.items() if name.startswith(known)}


def unshared(url: str, cluster: str, *, claim: str, shared: bool) -> str:
    """Why the Pods of a cluster cannot see this store, "" when they can, as far as settings can say. Raises WorkError.

    `cluster` is where searches run (`embedded` is on this machine), `claim` the volume claim that holds the directory,
    `shared` that every node has it at the same path.
    """
    place = Place.of(url)
    if place.scheme != "file" or cluster == "embedded" or claim or shared:
        return ""
    return f"the work store is {place.path} on this machine, where no Pod of the cluster sees it"
