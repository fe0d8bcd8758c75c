"""The version of this program, which goes into every run."""

VERSION = "0.1.0"


def version_of(package: str) -> str | None:
    """An installed package's version, from its metadata: nothing is imported for it. None where it is not."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
