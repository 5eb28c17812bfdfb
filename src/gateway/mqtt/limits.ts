/** Bounds of what one peer can make this process hold or do. */
export interface Limits {
  connectTimeoutSeconds: number
  /** Whole packets, announced to MQTT 5 clients. */
  packetBytesMax: number
  /** Of a packet whose sender nobody knows yet. */
  connectBytesMax: number
  /** Incomplete packets of all connections together. */
  partialBytesMax: number
  /** A packet that has begun must have come by then. */
  packetTimeoutSeconds: number
  /** QoS above 0 from one client without an acknowledgement: announced to MQTT 5 clients, and where reading stops for all. */
  receiveMaximum: number
  /** Payloads that the host still works on: reading stops above. */
  pendingBytesMax: number
  /** QoS 2 packet ids of one session between PUBREC and PUBREL, where the protocol has no receive maximum. */
  unreleasedMax: number
  /** Sent to one client without an acknowledgement; a smaller receive maximum of the client wins. */
  inFlightMax: number
  /** Waiting or sent and unacknowledged, for each session. */
  queuedMessagesMax: number
  queuedBytesMax: number
  /** Bytes that a client has not read yet: QoS 0 is dropped above, at four times as much the connection ends. */
  unsentBytesMax: number
  slowReaderSeconds: number
  subscriptionsMax: number
  topicBytesMax: number
  topicLevelsMax: number
  clientIdBytesMax: number
  userPropertiesMax: number
  userPropertiesBytesMax: number
  topicAliasMaximum: number
  keepAliveMaxSeconds: number
  sessionExpiryMaxSeconds: number
  /** How long the peer has to read our last words before its connection is cut. */
  lingerSeconds: number
}

export const defaultLimits: Limits = {
  connectTimeoutSeconds: 10,
  packetBytesMax: 1_048_576,
  connectBytesMax: 131_072,
  partialBytesMax: 67_108_864,
  packetTimeoutSeconds: 120,
  receiveMaximum: 256,
  pendingBytesMax: 1_048_576,
  unreleasedMax: 4096,
  inFlightMax: 32,
  queuedMessagesMax: 1000,
  queuedBytesMax: 4_194_304,
  unsentBytesMax: 1_048_576,
  slowReaderSeconds: 15,
  subscriptionsMax: 1000,
  topicBytesMax: 2048,
  topicLevelsMax: 128,
  clientIdBytesMax: 512,
  userPropertiesMax: 64,
  userPropertiesBytesMax: 8192,
  topicAliasMaximum: 16,
  keepAliveMaxSeconds: 3600,
  sessionExpiryMaxSeconds: 7 * 24 * 3600,
  lingerSeconds: 2,
}
