#!/usr/bin/env python3
"""A device in Python, with paho-mqtt (Debian: python3-paho-mqtt, elsewhere: pip install paho-mqtt).

  examples/python/device.py <application version> <endpoint token> [host] [port]

Sends a sample every five seconds, answers commands, applies configurations and installs software until Ctrl-C.
"""
import base64
import hashlib
import http.client
import itertools
import json
import random
import sys
import threading
import time
import urllib.request

import paho.mqtt.client as mqtt

version, token = sys.argv[1:3]
host = sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1"
port = int(sys.argv[4]) if len(sys.argv) > 4 else 1883
software = "1.0.0"


def topic(extension, path):
    return f"kp1/{version}/{extension}/{token}/{path}"


def log(text):
    print(text, flush=True)


def report_applied(client, extension, config_id, status_code=200, **more):
    report = {"configId": config_id, "statusCode": status_code, **more}
    client.publish(topic(extension, "applied/json"), json.dumps(report), qos=1)


def download(link):
    """Downloads the file, continues a broken download where it ended, and compares the content with its SHA-256."""
    checksum, received, total, digest = hashlib.sha256(), 0, 1, None
    for _ in range(5):
        try:
            request = urllib.request.Request(link, headers={"Range": f"bytes={received}-"})
            with urllib.request.urlopen(request, timeout=60) as response:
                total = int(response.headers["Content-Range"].split("/")[1])
                digest = response.headers["Repr-Digest"]
                while chunk := response.read(65536):
                    checksum.update(chunk)  # a real device also writes the bytes to its flash memory
                    received += len(chunk)
        except (OSError, http.client.HTTPException) as error:
            log(f"download broken: {error}")
        if received == total:
            break
    if digest != f"sha-256=:{base64.b64encode(checksum.digest()).decode()}:":
        raise ValueError("the download is not complete or has a wrong checksum")


def update(client, config_id, config):
    global software
    try:
        if config.get("link"):
            download(config["link"])
        software = config_id  # a real device would install the software and restart
        log(f"installed {config_id}")
        report_applied(client, "cmx_ota", config_id)
    except Exception as error:
        report_applied(client, "cmx_ota", config_id, 500, reasonPhrase=str(error))


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
    elif extension == "cmx":
        configuration = json.loads(message.payload)
        log(f"applied {json.dumps(configuration['config'])}")
        report_applied(client, "cmx", configuration["configId"])
    elif extension == "cmx_ota":
        offer = json.loads(message.payload)
        # The update runs in a thread, because a download must not block the MQTT connection.
        threading.Thread(target=update, args=(client, offer["configId"], offer["config"]), daemon=True).start()


# The platform offers software only to devices that have reported their version.
def on_connect(client, *_):
    report_applied(client, "cmx_ota", software)


# Version 2 of paho-mqtt requires an argument with the version of the callback functions.
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2) if hasattr(mqtt, "CallbackAPIVersion") else mqtt.Client()
client.on_message = on_message
client.on_connect = on_connect
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
