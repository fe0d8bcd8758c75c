"""The version of this program, which goes into every run."""

VERSION = "0.1.0"


def version_of(package: str) -> str | None:
    """A package's version, from its metadata, so that nothing is imported. None where it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
