#!/bin/sh
# A device that uses HTTP, with curl alone.
#   examples/curl/device.sh <application version> <endpoint token> [address]
# Sends one sample, polls for a command of type "blink" (HTTP has no push), and sends its result.
set -eu
version=${1:?an application version, then an endpoint token} token=${2:?an endpoint token}
base=${3:-http://127.0.0.1:8080}
post() { curl --silent --show-error --fail-with-body --data "$2" "$base/kp1/$version/$1"; }

post "dcx/$token/json" '{"temperature": 21.5, "battery": 87}'
echo 'sent a sample'

while commands=$(post "cex/$token/command/blink" '{}') && [ "$commands" = '[]' ]; do sleep 2; done
echo "received $commands"

id=$(echo "$commands" | grep -o '"id": *[0-9]*' | head -n 1 | grep -o '[0-9]*$')
post "cex/$token/result/blink" "[{\"id\": $id, \"statusCode\": 200, \"payload\": \"done by curl\"}]"
echo "answered command $id"
