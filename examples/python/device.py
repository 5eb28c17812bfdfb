#!/usr/bin/env python3
"""A device in Python, with paho-mqtt (Debian: python3-paho-mqtt, elsewhere: pip install paho-mqtt).

  examples/python/device.py <application version> <endpoint token> [host] [port]

Sends a sample every five seconds and answers commands until Ctrl-C.
"""
import itertools
import json
import random
import sys
import time

import paho.mqtt.client as mqtt

version, token = sys.argv[1:3]
host = sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1"
port = int(sys.argv[4]) if len(sys.argv) > 4 else 1883


def topic(extension, path):
    return f"kp1/{version}/{extension}/{token}/{path}"


def log(text):
    print(text, flush=True)


# No subscription is needed: the platform pushes responses and commands to this connection.
def on_message(client, userdata, message):
    _, _, extension, _, *path = message.topic.split("/")
    if path[-1] == "error":
        log(f"rejected: {message.payload.decode()}")
    elif extension == "dcx":
        log(f"sample {path[-2]} is stored")
    elif extension == "cex" and path[0] == "command":
        results = []
        for command in json.loads(message.payload):
            log(f"command {command['id']}: {path[1]} {json.dumps(command.get('payload'))}")
            results.append({"id": command["id"], "statusCode": 200, "payload": "done by Python"})
        client.publish(topic("cex", f"result/{path[1]}"), json.dumps(results), qos=1)


# Version 2 of paho-mqtt requires the version of the callback functions.
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2) if hasattr(mqtt, "CallbackAPIVersion") else mqtt.Client()
client.on_message = on_message
client.connect(host, port)
client.loop_start()
log("connected")
try:
    for request_id in itertools.count(1):
        sample = {"temperature": round(random.uniform(20, 25), 2), "battery": 87}
        client.publish(topic("dcx", f"json/{request_id}"), json.dumps(sample), qos=1)
        time.sleep(5)
except KeyboardInterrupt:
    client.disconnect()
    client.loop_stop()
