"""Helpers of Scripts/check-live: a load, networks of its own, runs of imdump, and the checks."""
