"""smpplib as a client with several submits outstanding: writes what it saw, as JSON. python3 client.py COUNT WINDOW"""
import json
import socket
import sys
import time

import smpplib.client
import smpplib.consts
import smpplib.exceptions
import smpplib.smpp


def main(count, window):
    client = smpplib.client.Client("127.0.0.1", 2775, allow_unknown_opt_params=True)
    sent, answered, statuses = {}, {}, {}

    def answer(pdu, **_):
        answered[pdu.sequence] = time.time()
        statuses[pdu.sequence] = pdu.status

    client.set_message_sent_handler(answer)
    client.set_error_pdu_handler(answer)
    client.connect()
    # Else small submits wait in the kernel for the acknowledgment of the one before, and the log is not the wire's.
    client._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.bind_transceiver(system_id="shop", password="secret")
    for first in range(0, count, window):
        for i in range(first, first + window):
            pdu = smpplib.smpp.make_pdu(
                "submit_sm", client=client, source_addr_ton=1, source_addr_npi=1, source_addr="4915112345",
                dest_addr_ton=1, dest_addr_npi=1, destination_addr=str(900 + i % 20), short_message=b"text %d" % i,
                user_message_reference=i % 65536, source_port=7)
            sent[pdu.sequence] = time.time()
            client.send_pdu(pdu)
        while len(answered) < first + window:
            client.read_once()
        client.send_pdu(smpplib.smpp.make_pdu("enquire_link", client=client))
        client.read_once()
    client.unbind()
    client.disconnect()
    json.dump({"sent": sent, "answered": answered, "statuses": statuses}, sys.stdout)


main(int(sys.argv[1]), int(sys.argv[2]))
