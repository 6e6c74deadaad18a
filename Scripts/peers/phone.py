"""paho as a phone that publishes and pings through a path that dies; what it sent and saw, and when, as JSON.

python3 phone.py PORT SECONDS KEPT: KEPT is 1 for a session that outlives its connections
"""
import json
import re
import sys
import time

import paho.mqtt.client as paho

SAID = [("publish", re.compile(r"Sending PUBLISH \(d(\d), q1, r0, m(\d+)\)")), ("puback", re.compile(r"Received PUBACK \(Mid: (\d+)")),
        ("connect", re.compile(r"Sending CONNECT")), ("connack", re.compile(r"Received CONNACK")),
        ("pingreq", re.compile(r"Sending PINGREQ")), ("pingresp", re.compile(r"Received PINGRESP"))]


def main(port, seconds, is_kept):
    log = []

    def note(client, data, level, text):
        for kind, pattern in SAID:
            found = pattern.match(text)
            if found:
                log.append([time.time(), kind, *map(int, found.groups())])

    phone = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id="phone", clean_session=not is_kept)
    phone.on_log = note
    phone.reconnect_delay_set(0.1, 0.1)
    phone.connect("127.0.0.1", port, keepalive=1)
    end, following = time.time() + seconds, 0
    while time.time() < end or phone.want_write() or not phone.is_connected():
        if phone.loop(0.02) != paho.MQTT_ERR_SUCCESS:
            phone.reconnect()
        if following <= time.time() < end and phone.is_connected():
            phone.publish("chat/1", b"hello", qos=1)
            following = time.time() + 0.05
        if time.time() > end + 10:
            break
    last = time.time() + 1
    while time.time() < last:
        phone.loop(0.02)
    phone.disconnect()
    phone.loop(0.1)
    json.dump(log, sys.stdout)


main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "1")
