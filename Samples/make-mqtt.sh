#!/usr/bin/env bash
# Makes mqtt-mosquitto.pcap and its truth again, from a real broker and real clients on this machine's loopback.
# Times, ports and sequence numbers differ from run to run: this capture cannot be made again byte for byte.
#
# Needs root for tcpdump, and: apt-get install mosquitto mosquitto-clients tcpdump tshark
# Port 1883 on 127.0.0.1 must be free. Takes about 25 seconds.
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

for tool in mosquitto mosquitto_pub mosquitto_sub tcpdump tshark; do
  command -v "$tool" >/dev/null || { echo "make-mqtt.sh: $tool is not installed" >&2; exit 69; }
done

cat >"$work/broker.conf" <<'CONF'
listener 1883 127.0.0.1
allow_anonymous true
persistence false
CONF
if [ "$(id -u)" = 0 ]; then echo "user root" >>"$work/broker.conf"; fi

tcpdump -i lo -B 16384 -U -s 0 -w "$work/mqtt.pcap" 'tcp port 1883 and host 127.0.0.1' 2>"$work/tcpdump.log" &
capture=$!
sleep 1
mosquitto -c "$work/broker.conf" >"$work/broker.log" 2>&1 &
broker=$!
started+=("$broker" "$capture")
sleep 1

publish() { mosquitto_pub -h 127.0.0.1 -V mqttv311 "$@"; }
# In the background this is the client itself, not a shell around it, so that a signal reaches the client.
subscribe() { exec mosquitto_sub -h 127.0.0.1 -V mqttv311 "$@" >>"$work/received.txt" 2>&1; }

# A reader that keeps its session, pings every 5 s, gives one topic back, and has a will.
subscribe -i reader -c -k 5 -q 2 -t 'chat/#' -t 'news/+' -U 'old/topic' \
  --will-topic chat/will --will-payload 'reader is gone' --will-qos 1 &
reader=$!
# A second one that sees the will.
subscribe -i watcher -k 5 -q 1 -t 'chat/will' -W 23 &
watcher=$!
started+=("$reader" "$watcher")
sleep 1

# Every quality of service; Chinese and emoji; one message of several segments; one kept for later readers.
publish -i writer -t chat/zhang -q 0 -m '你好'
publish -i writer -t chat/zhang -q 1 -m '在地铁上 🚇'
publish -i writer -t chat/zhang -q 2 -m '收到请回复'
publish -i writer -t news/today -q 1 -r -m 'kept for later'
head -c 40000 /dev/zero | tr '\0' 'x' >"$work/large.txt"
publish -i writer -t chat/file -q 2 -f "$work/large.txt"
# Several messages on one connection.
printf '%s\n' one two three four five | publish -i writer -t chat/lines -q 2 -l
sleep 9

# The reader dies without a DISCONNECT; messages wait for it; it comes back to its session.
kill -9 "$reader"
wait "$reader" 2>/dev/null || true
sleep 1
publish -i writer -t chat/zhang -q 1 -m 'while you were away'
publish -i writer -t chat/zhang -q 2 -m 'twice as careful'
(subscribe -i reader -c -k 5 -q 2 -t 'chat/#' -W 6) || true
wait "$watcher" 2>/dev/null || true

sleep 1
kill "$broker"
sleep 1
kill "$capture"
wait "$capture" 2>/dev/null || true
grep -q '^0 packets dropped by kernel' "$work/tcpdump.log" || { cat "$work/tcpdump.log" >&2; exit 1; }
cp "$work/mqtt.pcap" "$here/mqtt-mosquitto.pcap"
python3 "$here/mqtt-truth.py" "$here/mqtt-mosquitto.pcap"
