/**
 * The interface between the gateway and the extensions of services (4/ESP): a message in, an answer out. It names no protocol and no
 * extension; a service offers its extensions in `BuiltService.device`.
 */

/** The endpoint that a device's token belongs to. */
export interface DeviceEndpoint {
  tenantId: string
  applicationName: string
  /** The version that the device uses now. */
  versionName: string
  endpointId: string
}

export interface DeviceMessage {
  endpoint: DeviceEndpoint
  extension: string
  /** The part of the topic after the token, without the request id: `/json`, `/command/reboot`; may be empty. */
  resourcePath: string
  requestId?: number
  /** A view of the receive buffer, which is reused after `receive` has settled: copy the bytes that you keep. */
  payload: Buffer
  receivedAt: Date
  correlationId: string
  /** The time of samples that have none of their own, where a network recorded it; by default they get the time of arrival. */
  sampleTime?: Date
  /** The run of a rule that sends the message in the name of the device; absent for messages of devices. */
  cause?: string
}

/** The answer on success; without `payload` it has an empty payload. A Buffer is JSON text, sent as it is. */
export interface DeviceAnswer {
  payload?: unknown
  /** Shown by the traffic log instead of `payload`, if that contains a secret. */
  recordedPayload?: unknown
  /**
   * True if the answer is sent even without a request id, as for "get" resources, whose clients wait for it. Errors, and answers
   * over HTTP, are always sent.
   */
  always?: boolean
}

/** A message from the platform to a device, on `<resourcePath>/status` of the endpoint's extension. */
export interface Push {
  extension: string
  /** Name of the push. A device can stop pushes of this name with `observe: false`; a push without a name is always sent. */
  name?: string
  /** Path without `/status`: `/command/reboot`. */
  resourcePath: string
  /** A JSON value, or a Buffer with JSON text. */
  payload: unknown
}

export interface Extension {
  name: string
  /** True if the traffic log leaves out the messages of the extension. */
  unrecorded?: boolean
  /** True if `receive` needs the request id of messages over HTTP too, where answers do not need one. */
  readsRequestId?: boolean
  /**
   * Handles messages in the order of arrival, without waiting for the previous one; `createKeyedMutex` serializes. Resolves when the
   * data is durable: only then is the message acknowledged. The device gets the status of a PlatformError, and 500 for other errors.
   */
  receive(message: DeviceMessage): Promise<DeviceAnswer | undefined> | DeviceAnswer | undefined
  /** Returns the pushes for an endpoint that has just connected. */
  connected?(endpoint: DeviceEndpoint): Promise<Push[]>
  /** Called on the node of the connection, after a push of this extension was handed over to it. Must not block or throw. */
  handedOver?(endpoint: DeviceEndpoint, push: Push): void
  /** Reports connects and disconnects, in order for each endpoint. A batch that fails is repeated a few times. */
  connectivityChanged?(changes: ConnectivityChange[]): Promise<void>
}

export interface ConnectivityChange {
  endpoint: DeviceEndpoint
  connected: boolean
  at: Date
}
