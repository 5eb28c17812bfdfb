#!/bin/sh
# A device that uses HTTP, with curl alone.
#   examples/curl/device.sh <application version> <endpoint token> [address]
# Sends one sample and the version of its software. HTTP has no push, so the device polls: it applies its configuration, installs the
# software that the platform offers, and ends after the first command of type "blink".
set -eu
version=${1:?usage: device.sh <application version> <endpoint token> [address]} token=${2:?the endpoint token is missing}
base=${3:-http://127.0.0.1:8080}
post() { curl --silent --show-error --fail-with-body --data "$2" "$base/kp1/$version/$1"; }
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
config='' software=1.0.0

post "dcx/$token/json" '{"temperature": 21.5, "battery": 87}'
echo 'sent a sample'
post "cmx_ota/$token/applied/json" "{\"configId\": \"$software\", \"statusCode\": 200}"

# If there is no new configuration, the response has no configId, or an empty configId.
configure() {
  answer=$(post "cmx/$token/config/json" "{\"configId\": \"$config\"}")
  id=$(echo "$answer" | field configId)
  [ -n "$id" ] || return 0
  config=$id
  echo "applied $answer"
  post "cmx/$token/applied/json" "{\"configId\": \"$id\", \"statusCode\": 200}"
}

update() {
  offer=$(post "cmx_ota/$token/config/json" "{\"configId\": \"$software\"}")
  id=$(echo "$offer" | field configId)
  [ -n "$id" ] || return 0
  link=$(echo "$offer" | field link)
  if [ -z "$link" ] || download "$link" "$folder/$id"; then
    software=$id
    echo "installed $id"
    post "cmx_ota/$token/applied/json" "{\"configId\": \"$id\", \"statusCode\": 200}"
  else
    post "cmx_ota/$token/applied/json" "{\"configId\": \"$id\", \"statusCode\": 500, \"reasonPhrase\": \"download failed\"}"
  fi
}

while configure && update && commands=$(post "cex/$token/command/blink" '{}') && [ "$commands" = '[]' ]; do sleep 2; done
echo "received $commands"

id=$(echo "$commands" | grep -o '"id": *[0-9]*' | head -n 1 | grep -o '[0-9]*$')
post "cex/$token/result/blink" "[{\"id\": $id, \"statusCode\": 200, \"payload\": \"done by curl\"}]"
echo "answered command $id"
