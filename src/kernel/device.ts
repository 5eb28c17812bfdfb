/**
 * The interface between the gateway and the extensions of services (4/ESP): an extension gets a message and returns an answer. The
 * interface depends on no protocol and no extension. A service offers its extensions in `BuiltService.device`.
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
  /** A view of the receive buffer, which is reused after `receive` has settled. Bytes that are kept must be copied. */
  payload: Buffer
  receivedAt: Date
  correlationId: string
  /**
   * The time at which a network, such as LoRaWAN, received the message. Samples without a time of their own get it. Default: the time of
   * arrival.
   */
  sampleTime?: Date
  /** The run of a rule that sends the message on behalf of the device; absent for messages of devices. */
  cause?: string
}

/** The answer on success. Without `payload`, an empty payload is sent. A Buffer is JSON text that is sent unchanged. */
export interface DeviceAnswer {
  payload?: unknown
  /** The payload that the traffic log shows instead of `payload`, if `payload` contains a secret. */
  recordedPayload?: unknown
  /**
   * True if the answer is sent even if the request has no id. This is for "get" resources, whose clients wait for the answer. Errors, and
   * answers over HTTP, are always sent.
   */
  always?: boolean
}

/** A message from the platform to a device, on `<resourcePath>/status` of the endpoint's extension. */
export interface Push {
  extension: string
  /** Name of the push. A device can stop pushes of this name with `observe: false`; a push without a name is always sent. */
  name?: string
  /** Path of the resource in the topic, without the ending `/status`: `/command/reboot`. */
  resourcePath: string
  /** A JSON value, or a Buffer with JSON text. */
  payload: unknown
}

export interface Extension {
  name: string
  /** True if the traffic log leaves out the messages of the extension. */
  unrecorded?: boolean
  /** True if `receive` also needs the request id of messages over HTTP. Answers over HTTP do not need the id. */
  readsRequestId?: boolean
  /**
   * Called with messages in the order of arrival, even if earlier calls have not ended (`createKeyedMutex` can serialize them). The
   * returned promise resolves when the data is durable; only then is the message acknowledged. The device gets the status of a
   * PlatformError, and 500 for other errors.
   */
  receive(message: DeviceMessage): Promise<DeviceAnswer | undefined> | DeviceAnswer | undefined
  /** Returns the pushes for an endpoint that has just connected. */
  connected?(endpoint: DeviceEndpoint): Promise<Push[]>
  /**
   * Called after a push of this extension was passed to a connection, on the node of that connection. The function must not block or throw.
   */
  handedOver?(endpoint: DeviceEndpoint, push: Push): void
  /** Called with connects and disconnects, in order for each endpoint. A batch that fails is repeated a few times. */
  connectivityChanged?(changes: ConnectivityChange[]): Promise<void>
}

export interface ConnectivityChange {
  endpoint: DeviceEndpoint
  connected: boolean
  at: Date
}
