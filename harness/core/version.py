"""The version of this program, which goes into every run."""

VERSION = "0.1.0"
