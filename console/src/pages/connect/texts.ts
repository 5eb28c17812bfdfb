import { count } from '../../parts/texts.ts'

export const texts = {
  title: 'Connect a device',
  titleOf: (name: string) => `Connect ${name}`,
  lead: 'Make an identity for a device, copy a few lines that send its first message, and watch the message arrive.',
  leadOf: 'Copy the lines, run them, and watch the first message arrive. Everything is filled in.',
  loading: 'Loading…',
  // the choice
  version: 'Application version',
  versionNote: 'The version that the device runs. Configuration and rules belong to the application and its version.',
  newApplication: 'A new application…',
  firstVersion: (application: string) => `${application}, with a first version`,
  application: 'Name of the application',
  applicationNote: (version: string) =>
    `A kind of device: lower-case letters, digits and hyphens. Its first version is ${version}.`,
  applicationDefault: 'my-devices',
  id: 'Id of the device',
  idNote: 'Letters, digits and . _ ~ -; unique on the platform. It stands for one device.',
  idDefault: (part: string) => `device-${part}`,
  create: 'Create and continue',
  mayNotCreate:
    'There is no application version yet, and you may not create a version. Ask an administrator of the tenant.',
  madeApplication: (name: string) => `The application ${name} was created, but creating its version failed.`,
  madeVersion: (name: string) => `The version ${name} was created, but registering the device failed.`,
  // the lines
  send: 'Send a message',
  with: 'Send with',
  kinds: {
    mosquitto: 'mosquitto_pub',
    curl: 'curl',
    node: 'Node.js',
    python: 'Python',
    arduino: 'Arduino',
    page: 'This page',
  },
  needs: {
    mosquitto:
      'Paste it into a terminal. Debian and Ubuntu: apt install mosquitto-clients. macOS: brew install mosquitto.',
    curl: 'Paste it into a terminal. Sends over HTTP.',
    node: 'Save it as device.mjs, then: npm install mqtt && node device.mjs',
    python:
      'Save it as device.py, then run: python3 device.py. It needs the package paho-mqtt. Debian and Ubuntu: apt install python3-paho-mqtt. Elsewhere: pip install paho-mqtt.',
    arduino: 'For ESP32 and similar boards, with the library PubSubClient.',
  },
  page: 'No device at hand? This page sends the message itself, over HTTP, as a device would.',
  payload: 'Message',
  sendNow: 'Send',
  copyLines: 'Copy',
  token:
    'The token in these lines identifies the device and is shown only now. You can create further tokens on the tab Access of the endpoint.',
  noToken:
    'The token of this device was shown when it was created, and the platform keeps it only as a hash. Create another token to fill in the lines; the old token stays valid.',
  createToken: 'Create a token',
  elsewhere: 'For devices elsewhere',
  loopback: (host: string) =>
    `${host} is this machine only. For devices elsewhere, start the platform with WAYPOST_HOST=0.0.0.0 and WAYPOST_BASE_URL=http://<name of this machine>:<port>.`,
  encrypt: 'These lines do not encrypt. In networks that you do not control, use TLS: MQTT at',
  needsLogin: 'The tenant requires a user name and a password over MQTT.',
  createLogin: 'Create them',
  loginMade: (username: string) =>
    `The lines contain the user name ${username} and its password, which is shown only now.`,
  needsCertificate:
    'The tenant requires a client certificate over MQTT. Create a certificate under Credentials, or send over HTTP.',
  toCredentials: 'Go to the credentials',
  httpOff: 'The tenant does not accept devices over HTTP.',
  mayNotUpdate: 'You may not create tokens of this device. Ask an administrator of the tenant.',
  // the first message
  arrival: 'First message',
  waiting: 'Waiting for the first message…',
  waitingNote: 'The message appears here within a second, even if the platform refuses the message.',
  interrupted: 'The live connection was lost. Until the page has reconnected, it asks for messages every few seconds.',
  ended: (reason: string) => `The platform ended the live connection: ${reason}`,
  refusedOwn: 'A message of this device was refused.',
  refusedOther:
    'A message or connection was refused. The refusal names no known device, so the message may be from this device.',
  rejected: (status: number) => `The platform rejected a message of this device with status ${status}.`,
  noReason: 'No reason was given.',
  times: (number: number) => `${count(number)} times`,
  arrived: (values: string) => `The first message is here: ${values}.`,
  arrivedNoPoint: 'A message arrived. It has no values to draw; this is what it says:',
  chart: 'Values of the device',
  payloadOf: 'Payload',
  toEndpoint: 'Open the endpoint',
  another: 'Connect another device',
  help: 'Nothing arrives?',
  helpItems: [
    'mosquitto_pub -V 5 prints a warning when the platform rejects a message; curl -i prints the answer.',
    'The topic begins with kp1, then the application version, dcx, the token and json. Copy the topic again if you typed it.',
    'A refused connection means a wrong address or port, or a firewall between the device and the platform.',
  ],
}
