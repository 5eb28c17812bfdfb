/**
 * Programs that send messages as a device. A copied program runs unchanged, except that the Arduino program needs the name and the password
 * of a network.
 */

export const kinds = ['mosquitto', 'curl', 'node', 'python', 'arduino'] as const
export type SnippetKind = (typeof kinds)[number]

export interface SnippetOptions {
  /**
   * Address of the MQTT listener, `mqtt://host:port`. `httpUrl` is the public HTTP address of the platform. Each address is undefined if
   * devices cannot use its transport.
   */
  mqttUrl: string | undefined
  httpUrl: string | undefined
  versionName: string
  token: string
  endpointId: string
  /** Client credentials, if the tenant requires them. */
  login?: { username: string; password: string } | undefined
}

export const samplePayload = '{"temperature": 21.5}'

/** Quotes an argument for a POSIX shell. */
const quote = (text: string) => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
/** Returns a string literal that is valid in JavaScript, Python and C. */
const string = (text: string) => JSON.stringify(text)

/** Joins the lines of one shell command. */
const command = (...parts: string[]) => parts.join(' \\\n  ')

/** Returns the program, or undefined if its transport is not available. */
export function snippet(kind: SnippetKind, options: SnippetOptions): string | undefined {
  if (kind === 'curl') return options.httpUrl === undefined ? undefined : curl(options, options.httpUrl)
  return options.mqttUrl === undefined ? undefined : overMqtt[kind](options, new URL(options.mqttUrl))
}

const topicOf = ({ versionName, token }: SnippetOptions) => `kp1/${versionName}/dcx/${token}/json`

function curl(options: SnippetOptions, httpUrl: string): string {
  const path = topicOf(options).split('/').map(encodeURIComponent).join('/')
  return command(`curl -i ${quote(`${httpUrl}/${path}`)}`, `-d ${quote(samplePayload)}`)
}

const hostOf = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, '')
const portOf = ({ port }: URL) => port || '1883'

const overMqtt: Record<Exclude<SnippetKind, 'curl'>, (options: SnippetOptions, url: URL) => string> = {
  mosquitto: (options, url) =>
    command(
      `mosquitto_pub -V 5 -h ${quote(hostOf(url))} -p ${portOf(url)} -q 1`,
      ...(options.login ? [`-u ${quote(options.login.username)} -P ${quote(options.login.password)}`] : []),
      `-t ${quote(topicOf(options))}`,
      `-m ${quote(samplePayload)}`,
    ),

  node: (options, url) => `import mqtt from 'mqtt'

const client = await mqtt.connectAsync(${string(url.href.replace(/\/$/, ''))}, {
  protocolVersion: 5,${options.login ? `\n  username: ${string(options.login.username)},\n  password: ${string(options.login.password)},` : ''}
})
const topic = ${string(topicOf(options))}
await client.publishAsync(topic, JSON.stringify({ temperature: 21.5 }), { qos: 1 })
console.log('sent')
await client.endAsync()
`,

  python: (options, url) => `import json
import paho.mqtt.publish as publish

publish.single(
    ${string(topicOf(options))},
    json.dumps({"temperature": 21.5}),
    qos=1,
    hostname=${string(hostOf(url))},
    port=${portOf(url)},${options.login ? `\n    auth={"username": ${string(options.login.username)}, "password": ${string(options.login.password)}},` : ''}
)
print("sent")
`,

  arduino: (options, url) => `#include <WiFi.h>  // ESP8266: ESP8266WiFi.h
#include <PubSubClient.h>

const char *topic = ${string(topicOf(options))};
WiFiClient network;
PubSubClient mqtt(network);

void setup() {
  WiFi.begin("name of your network", "its password");
  mqtt.setServer(${string(hostOf(url))}, ${portOf(url)});
  mqtt.setBufferSize(512);
}

void loop() {
  if (WiFi.status() == WL_CONNECTED &&
      (mqtt.connected() || mqtt.connect(${[options.endpointId, ...(options.login ? [options.login.username, options.login.password] : [])].map(string).join(', ')}))) {
    mqtt.publish(topic, ${string(samplePayload)});
    mqtt.loop();
  }
  delay(5000);
}
`,
}
