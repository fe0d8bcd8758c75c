"""Collecting stored runs of several machines into one results folder."""
