/**
 * What stands between the devices' door and the services behind it (4/ESP): a message in, an answer out. No transport and no
 * extension is named here; a service offers its extensions in `BuiltService.device`.
 */

/** Who a device speaks for, once its token is known. */
export interface DeviceEndpoint {
  tenantId: string
  applicationName: string
  /** The version that the device names now. */
  versionName: string
  endpointId: string
}

export interface DeviceMessage {
  endpoint: DeviceEndpoint
  extension: string
  /** What follows the token, without the request id: `/json`, `/command/reboot`; empty when nothing follows. */
  resourcePath: string
  requestId?: number
  /** A view of what was read from the wire: copy what you keep after `receive` has settled. */
  payload: Buffer
  receivedAt: Date
  correlationId: string
}

/** What goes back on success; without a payload it is an empty one. */
export interface DeviceAnswer {
  payload?: unknown
  /**
   * Whether it goes out also when the device gave no request id: "get" resources, whose clients wait for it all the same.
   * Errors always go out, and where a device waits for its answer (HTTP), every answer does.
   */
  always?: boolean
}

/** What the platform says of its own accord, on `<resourcePath>/status` of the endpoint's extension. */
export interface Push {
  extension: string
  /** The name under which the device can stop it with `observe: false`; absent: it is always sent. */
  name?: string
  /** Without `/status`: `/command/reboot`. */
  resourcePath: string
  payload: unknown
}

export interface Extension {
  name: string
  /** Its messages are not in the traffic log. */
  unrecorded?: boolean
  /** Gets the request id of a message over HTTP too, where no answer needs one. */
  readsRequestId?: boolean
  /**
   * Resolves when what the message asks to keep would survive a power cut: only then the device gets its acknowledgement. An
   * answer without a promise is for messages that ask to keep nothing. Anything thrown goes to the device as an error: a
   * PlatformError with its status, all else as a 500 without details. Called in the order of arrival, without waiting for the one before; an extension that needs more uses `createKeyedMutex`.
   */
  receive(message: DeviceMessage): Promise<DeviceAnswer | undefined> | DeviceAnswer | undefined
  /** The endpoint has a connection now: what waits for it. */
  connected?(endpoint: DeviceEndpoint): Promise<Push[]>
  /** Endpoints connected or disconnected, in the order in which it happened to each. A batch that fails is repeated a few times. */
  connectivityChanged?(changes: ConnectivityChange[]): Promise<void>
}

export interface ConnectivityChange {
  endpoint: DeviceEndpoint
  connected: boolean
  at: Date
}
