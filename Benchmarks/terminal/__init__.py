"""imdump browse on terminals of the benchmark's own, with a clock."""
