"""Profiles: where the time of a call goes, by the stages that an implementation marks."""
