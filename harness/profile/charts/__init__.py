"""Charts of profiles: where the time of a call goes, and how near to the machine's ceilings."""
