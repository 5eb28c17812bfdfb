/** Reason codes of MQTT 5 that this layer sends. `oldConnectCode` maps them to the return codes of MQTT 3.1.1. */
export const Code = {
  success: 0x00,
  noSubscriptionExisted: 0x11,
  unspecified: 0x80,
  malformed: 0x81,
  protocolError: 0x82,
  unsupportedVersion: 0x84,
  clientIdInvalid: 0x85,
  badCredentials: 0x86,
  notAuthorized: 0x87,
  unavailable: 0x88,
  busy: 0x89,
  banned: 0x8a,
  shuttingDown: 0x8b,
  badAuthenticationMethod: 0x8c,
  keepAliveTimeout: 0x8d,
  takenOver: 0x8e,
  filterInvalid: 0x8f,
  topicInvalid: 0x90,
  packetIdNotFound: 0x92,
  receiveMaximum: 0x93,
  topicAlias: 0x94,
  tooLarge: 0x95,
  quotaExceeded: 0x97,
  administrative: 0x98,
  sharedNotSupported: 0x9e,
} as const

/** Thrown to end the connection with a code. The text is for the traffic log and the reason string. */
export class MqttError extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export const malformed = (problem: string) => new MqttError(Code.malformed, problem)
export const protocolError = (problem: string) => new MqttError(Code.protocolError, problem)

/** Returns the return code of CONNACK in MQTT 3.1 and 3.1.1, which have only five errors. */
export function oldConnectCode(code: number): number {
  if (code === Code.unsupportedVersion) return 1
  if (code === Code.clientIdInvalid) return 2
  if (code === Code.badCredentials || code === Code.badAuthenticationMethod) return 4
  if (code === Code.notAuthorized || code === Code.banned) return 5
  return 3
}
