"""The parts of make.py: bytes of tjp, a small TCP, two applications, packets and files, and the truth about them."""
