#!/usr/bin/env bash
# Makes mqtt-websocket.pcap and its truth again: MQTT over WebSocket, from a real broker and real clients on loopback.
# Times, ports and keys differ from run to run: this capture cannot be made again byte for byte.
#
# Needs root for tcpdump; apt-get install mosquitto tcpdump tshark, and paho-mqtt from PyPI.
# Ports 9001 and 9002 on 127.0.0.1 must be free. Takes about 15 seconds.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
started=()
finish() {
  for id in "${started[@]}"; do kill "$id" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

for tool in mosquitto tcpdump tshark; do
  command -v "$tool" >/dev/null || { echo "make-websocket.sh: $tool is not installed" >&2; exit 69; }
done
python3 -c 'import paho.mqtt' || { echo "make-websocket.sh: paho-mqtt is not installed" >&2; exit 69; }

cat >"$work/broker.conf" <<'CONF'
listener 9001 127.0.0.1
protocol websockets
# Mosquitto 2.0.11 does not start with listeners for WebSocket alone.
listener 9002 127.0.0.1
allow_anonymous true
persistence false
CONF
if [ "$(id -u)" = 0 ]; then echo "user root" >>"$work/broker.conf"; fi

tcpdump -i lo -B 16384 -U -s 0 -w "$work/websocket.pcap" 'tcp port 9001 and host 127.0.0.1' 2>"$work/tcpdump.log" &
capture=$!
started+=("$capture")
sleep 1
mosquitto -c "$work/broker.conf" >"$work/broker.log" 2>&1 &
started+=("$!")
sleep 1
timeout 30 python3 "$here/websocket-client.py" 9001 paho
timeout 30 python3 "$here/websocket-client.py" 9001 fragments
sleep 1
kill "$capture"
wait "$capture" 2>/dev/null || true
grep -q '^0 packets dropped by kernel' "$work/tcpdump.log" || { cat "$work/tcpdump.log" >&2; exit 1; }
cp "$work/websocket.pcap" "$here/mqtt-websocket.pcap"
python3 "$here/websocket-truth.py" "$here/mqtt-websocket.pcap" 9001
