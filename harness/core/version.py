"""The version of this program, which is stored in every run."""

VERSION = "0.1.0"


def version_of(package: str) -> str | None:
    """A package's version from its metadata, without importing it. None if it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
