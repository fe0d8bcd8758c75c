"""Profiles: time of a call by the stages that an implementation marks."""
