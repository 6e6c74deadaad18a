#!/usr/bin/env bash
# Makes mqtt5-mosquitto.pcap and its truth again, from a real broker and real clients of MQTT 5 on this machine's loopback.
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
  command -v "$tool" >/dev/null || { echo "make-mqtt5.sh: $tool is not installed" >&2; exit 69; }
done

# Whoever comes may do all but subscribe to "secret" and publish to "locked"; keep-alives are cut down to 10 s.
cat >"$work/security.json" <<'CONF'
{"defaultACLAccess": {"publishClientSend": true, "publishClientReceive": true, "subscribe": true, "unsubscribe": true},
 "anonymousGroup": "all", "clients": [],
 "groups": [{"groupname": "all", "roles": [{"rolename": "usual"}], "clients": []}],
 "roles": [{"rolename": "usual", "acls": [
  {"acltype": "subscribeLiteral", "topic": "secret", "allow": false},
  {"acltype": "publishClientSend", "topic": "locked", "allow": false}]}]}
CONF
plugin=$(find /usr/lib -name mosquitto_dynamic_security.so | head -n 1)
cat >"$work/broker.conf" <<CONF
listener 1883 127.0.0.1
allow_anonymous true
persistence false
plugin $plugin
plugin_opt_config_file $work/security.json
max_keepalive 10
CONF
if [ "$(id -u)" = 0 ]; then echo "user root" >>"$work/broker.conf"; fi

tcpdump -i lo -B 16384 -U -s 0 -w "$work/mqtt.pcap" 'tcp port 1883 and host 127.0.0.1' 2>"$work/tcpdump.log" &
capture=$!
sleep 1
mosquitto -c "$work/broker.conf" >"$work/broker.log" 2>&1 &
broker=$!
started+=("$broker" "$capture")
sleep 1

publish() { mosquitto_pub -h 127.0.0.1 -V mqttv5 "$@" || true; }
# In the background this is the client itself, not a shell around it, so that a signal reaches the client.
subscribe() { exec mosquitto_sub -h 127.0.0.1 "$@" >>"$work/received.txt" 2>&1; }

# A reader that keeps its session for a minute, gives a topic back, and has a will with properties of its own.
subscribe -V mqttv5 -i reader -c -x 60 -k 60 -q 2 -t 'chat/#' -t 'news/+' -U 'old/topic' \
  -D connect receive-maximum 20 -D connect user-property app chat -D subscribe subscription-identifier 300 \
  --will-topic chat/will --will-payload 'reader is gone' --will-qos 1 \
  -D will will-delay-interval 1 -D will content-type text/plain &
reader=$!
# One of 3.1.1 beside it, and one without a name: the broker gives it one.
subscribe -V mqttv311 -i older -k 5 -q 1 -t 'chat/#' -W 24 &
older=$!
subscribe -V mqttv5 -k 5 -q 1 -t 'news/#' -W 24 &
nameless=$!
started+=("$reader" "$older" "$nameless")
sleep 1

# Every quality of service, with properties; one message of several segments; a topic alias.
publish -i writer -t chat/zhang -q 0 -m '你好'
publish -i writer -t chat/zhang -q 1 -m '在地铁上 🚇' -D publish content-type text/plain -D publish user-property lang zh \
  -D publish user-property lang en
publish -i writer -t chat/zhang -q 2 -m '收到请回复' -D publish response-topic chat/answers -D publish correlation-data 7e01 \
  -D publish message-expiry-interval 60 -D publish payload-format-indicator 1
publish -i writer -t news/today -q 1 -r -m 'kept for later'
publish -i writer -t chat/alias -q 1 -m 'by alias' -D publish topic-alias 3
head -c 40000 /dev/zero | tr '\0' 'x' >"$work/large.txt"
publish -i writer -t chat/file -q 2 -f "$work/large.txt" -D publish content-type application/octet-stream
printf '%s\n' one two three four five | publish -i writer -t chat/lines -q 2 -l
# Nobody listens; not allowed; a subscription that is refused.
publish -i writer -t secret -q 1 -m 'nobody reads this'
publish -i writer -t locked -q 1 -m 'nobody may write this'
publish -i writer -t locked -q 2 -m 'nor this'
(subscribe -V mqttv5 -i spy -q 1 -t secret -W 1) || true
# Twice the same name: the broker ends the first connection.
subscribe -V mqttv5 -i twin -q 0 -t 'chat/#' -W 20 &
twin=$!
started+=("$twin")
sleep 1
(subscribe -V mqttv5 -i twin -q 0 -t 'chat/#' -W 1) || true
kill "$twin" 2>/dev/null || true
sleep 10

# The reader dies without a DISCONNECT; messages wait for it; it comes back to its session.
kill -9 "$reader"
wait "$reader" 2>/dev/null || true
sleep 2
publish -i writer -t chat/zhang -q 1 -m 'while you were away'
publish -i writer -t chat/zhang -q 2 -m 'twice as careful'
(subscribe -V mqttv5 -i reader -c -x 60 -k 5 -q 2 -t 'chat/#' -W 2) || true
wait "$older" "$nameless" 2>/dev/null || true

# One that is still there when the broker goes.
subscribe -V mqttv5 -i last -k 5 -q 0 -t 'news/#' -W 4 &
started+=("$!")
sleep 1
kill "$broker"
sleep 1
kill "$capture"
wait "$capture" 2>/dev/null || true
grep -q '^0 packets dropped by kernel' "$work/tcpdump.log" || { cat "$work/tcpdump.log" >&2; exit 1; }
cp "$work/mqtt.pcap" "$here/mqtt5-mosquitto.pcap"
python3 "$here/mqtt-truth.py" "$here/mqtt5-mosquitto.pcap"
