"""A gate without a clock: static figures and contracts of both sides."""
