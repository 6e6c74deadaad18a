#!/usr/bin/env bash
# Makes tjp-racing.pcap and its truth again: sudo Samples/make-racing.sh [folder]. Needs root, for Scripts/weaknet, and `make impeer`.
#
# Two clients write to a server over a network that loses every fifth packet each way and takes 40 ms; for three seconds the
# clients' interface is down. The capture is taken beside the server, and the truth comes from the ledgers of both ends. Ports,
# times and numbers differ every time.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-Samples}
impeer=${IMPEER_BINARY:-$PWD/.build/release/impeer}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

Scripts/weaknet run --seed 1 --delay 40 --loss 0.2 --down 7:3 --down-mode ifdown --linger 1 --timeout 100 \
  --stats "$scratch/lab" --pcap-server "$scratch/racing.pcap" \
  -- "$impeer" serve --host 0.0.0.0 --sink -q --ledger "$scratch/server" \
  -- "$impeer" load --host 10.77.0.1 --connections 2 --rate 4 --duration 12 --mix text=90,typing=5,location=5 \
  --size 20:80 -q --ledger "$scratch/client"
python3 Samples/racing-truth.py "$scratch/client" "$scratch/server" >"$scratch/truth"
cp "$scratch/racing.pcap" "$folder/tjp-racing.pcap"
cp "$scratch/truth" "$folder/tjp-racing.pcap.truth.json"
