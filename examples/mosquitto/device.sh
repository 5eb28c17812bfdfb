#!/bin/sh
# A device made of mosquitto_pub and mosquitto_sub (Debian: mosquitto-clients), and of curl to download software.
#   examples/mosquitto/device.sh <application version> <endpoint token> [host] [port]
# Sends one sample and the version of its software, applies configurations, installs software, and ends after the first command.
set -eu
version=${1:?usage: device.sh <application version> <endpoint token> [host] [port]} token=${2:?the endpoint token is missing}
host=${3:-127.0.0.1} port=${4:-1883}
# With QoS 1, mosquitto_pub ends when the platform has stored the message. With MQTT 5, it prints a warning if the platform has rejected the
# message.
publish() { mosquitto_pub -V 5 -h "$host" -p "$port" -q 1 -t "kp1/$version/$1" -m "$2"; }
# Prints a text field of JSON. A real device has a JSON parser.
field() { grep -o "\"$1\": *\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }
# Downloads the URL $1 into the file $2, in at most five attempts. With -C -, curl resumes an interrupted download.
download() {
  for _ in 1 2 3 4 5; do
    curl --silent --show-error --fail -C - -o "$2" "$1" && return
  done
  return 1
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

publish "dcx/$token/json" '{"temperature": 21.5, "battery": 87}'
echo 'sent a sample'
publish "cmx_ota/$token/applied/json" '{"configId": "1.0.0", "statusCode": 200}'

# Receives one message at a time. When the device connects, the platform again pushes everything that the device has not answered yet.
# mosquitto_sub requires topics, although the platform pushes without a subscription.
receive() {
  mosquitto_sub -h "$host" -p "$port" -q 1 -C 1 -F '%t %p' -t "kp1/$version/cex/$token/command/+/status" \
    -t "kp1/$version/cmx/$token/config/json/status" -t "kp1/$version/cmx_ota/$token/config/json/status"
}

while message=$(receive); do
  echo "received $message"
  code=200
  case $message in
    "kp1/$version/cex/"*) break ;;
    "kp1/$version/cmx/"*) extension=cmx ;;
    "kp1/$version/cmx_ota/"*)
      extension=cmx_ota
      link=$(echo "$message" | field link)
      [ -z "$link" ] || download "$link" "$folder/software" || code=500
      ;;
    *) continue ;;
  esac
  id=$(echo "$message" | field configId)
  publish "$extension/$token/applied/json" "{\"configId\": \"$id\", \"statusCode\": $code}"
  rm -f "$folder/software"
done

type=$(echo "$message" | cut -d/ -f6)
id=$(echo "$message" | grep -o '"id": *[0-9]*' | head -n 1 | grep -o '[0-9]*$')
publish "cex/$token/result/$type" "[{\"id\": $id, \"statusCode\": 200, \"payload\": \"done by mosquitto_pub\"}]"
echo "answered command $id"
