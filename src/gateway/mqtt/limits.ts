/** Limits on what one connection can make the node store or do. */
export interface Limits {
  connectTimeoutSeconds: number
  /** Maximum size of a packet; announced to MQTT 5 clients. */
  packetBytesMax: number
  /** Maximum size of a CONNECT packet. */
  connectBytesMax: number
  /** Maximum total size of incomplete packets on all connections. */
  partialBytesMax: number
  /** Time within which a packet must be complete. */
  packetTimeoutSeconds: number
  /** Maximum number of unacknowledged messages from one client; announced to MQTT 5 clients. Reading pauses at this number. */
  receiveMaximum: number
  /** Bytes of payloads that the host is still processing. Above this number, the node stops reading from the connection. */
  pendingBytesMax: number
  /**
   * Maximum number of packet ids of one session between PUBREC and PUBREL (QoS 2). Applies to versions before MQTT 5, which have no receive
   * maximum.
   */
  unreleasedMax: number
  /** Maximum number of unacknowledged messages to one client. A smaller receive maximum that the client announces applies instead. */
  inFlightMax: number
  /** Maximum number of queued and unacknowledged messages of a session. */
  queuedMessagesMax: number
  queuedBytesMax: number
  /**
   * Bytes in the send buffer of a connection. Above this limit, QoS 0 messages are dropped. At four times this limit, the connection is
   * closed.
   */
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
  /** Time that a client has to read the last packets before its socket is destroyed. */
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
