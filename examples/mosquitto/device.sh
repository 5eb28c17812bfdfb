#!/bin/sh
# A device made of mosquitto_pub and mosquitto_sub (Debian: mosquitto-clients).
#   examples/mosquitto/device.sh <application version> <endpoint token> [host] [port]
# Sends one sample, waits for a command, and sends its result.
set -eu
version=${1:?an application version, then an endpoint token} token=${2:?an endpoint token}
host=${3:-127.0.0.1} port=${4:-1883}

# QoS 1: mosquitto_pub ends when the platform has stored the sample. MQTT 5: it prints a warning when the platform has rejected it.
mosquitto_pub -V 5 -h "$host" -p "$port" -q 1 -t "kp1/$version/dcx/$token/json" -m '{"temperature": 21.5, "battery": 87}'
echo 'sent a sample'

# mosquitto_sub requires a topic, although the platform pushes commands without a subscription. Commands that were created
# before this connection are pushed now.
command=$(mosquitto_sub -h "$host" -p "$port" -q 1 -C 1 -F '%t %p' -t "kp1/$version/cex/$token/command/+/status")
echo "received $command"

type=$(echo "$command" | cut -d/ -f6)
id=$(echo "$command" | grep -o '"id": *[0-9]*' | head -n 1 | grep -o '[0-9]*$')
mosquitto_pub -h "$host" -p "$port" -q 1 -t "kp1/$version/cex/$token/result/$type" \
  -m "[{\"id\": $id, \"statusCode\": 200, \"payload\": \"done by mosquitto_pub\"}]"
echo "answered command $id"
