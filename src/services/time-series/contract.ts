import { type Ctx, contract } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { DeviceEndpoint, DeviceMessage } from '../../kernel/device.ts'
import type { RetentionConfiguration } from './configuration.ts'
import type { Value } from './points.ts'
import type { Aggregate } from './read/interval-sums.ts'

export type { Value }

export interface NewPoint {
  endpointId: string
  seriesName: string
  /** Milliseconds since 1970. */
  timestamp: number
  values: Record<string, Value>
  /** Path of the point in the request, such as `thermo-1.auto~t[0]`, for error messages. */
  requestPath?: string
}

export interface SeriesOfEndpoint {
  tenantId: string
  applicationName: string
  endpointId: string
  seriesName: string
}

export interface Point {
  /** ISO 8601. */
  timestamp: string
  values: Record<string, Value>
}

export interface LatestValue {
  seriesId: number
  timestamp: number
  value: Value
}

/** Points that a retention would delete. */
export interface RetentionEffect {
  points: number
  bytes: number
  series: {
    name: string
    valueName: string
    days: number
    /** Points before this time are deleted. */
    before: Date
    /** Number of points. A sample that replaces an earlier sample is counted separately until both are packed. */
    points: number
    /** Number of these points that are not packed yet. */
    unpacked: number
    /** Bytes of packed points. */
    bytes: number
  }[]
  /** Invalid parts of the retention; they delete nothing. */
  problems: { place: string; problem: string }[]
}

/** The samples of a message, which are published in the same commit that stores them. */
export interface ReceivedMessage {
  message: DeviceMessage
  samples: unknown[]
  cause: string | undefined
  /** Number of bytes of the samples as JSON. */
  bytes: number
}

/** Rows of another service that belong to the samples of one message. */
export interface CompanionRows {
  /** Approximate size in memory. */
  readonly bytes: number
}

/** A service that stores rows of its own in the commit of samples. */
export interface SampleCompanion {
  /**
   * Prepares rows for the samples of a message. Returns undefined if there are no rows, and must then take hardly any time. The samples are
   * stored only after the promise has resolved. The promises for messages of one endpoint must resolve in the order of the messages.
   */
  prepare(message: DeviceMessage, samples: unknown[]): Promise<CompanionRows | undefined> | undefined
  /** Stores the rows of several messages. If `isRepeated` is true, an earlier attempt may already have stored them. */
  store(sql: Sql, rows: CompanionRows[], isRepeated: boolean): Promise<void>
}

export interface SeriesExportRequest {
  applicationName: string
  endpointIds?: string[]
  timeSeriesNames?: string[]
  fromDate: string | number
  toDate: string | number
  includeTime?: 'from' | 'to' | 'both' | 'none'
  aggregate?: Aggregate
  interval?: string
  timeZone?: string
}

/** An export request after validation. It contains only JSON values, so that it can be stored. */
export interface SeriesExport {
  applicationName: string
  endpointIds?: string[]
  seriesNames?: string[]
  /** Milliseconds since 1970, both included. */
  from: number
  to: number
  reduction?: { aggregate: Aggregate; interval: string; timeZone?: string }
}

/** The position at which an export continues after a part. It contains only JSON values, so that it can be stored. */
export interface SeriesExportPosition {
  /** The id of the last endpoint in the part. */
  after: string
  /** Names of the values, in the order of the columns. */
  names: string[]
}

export interface SeriesExportPart {
  content: AsyncIterable<Buffer>
  /** Returns the number of points in the content. Correct only after all of the content was read. */
  rows(): number
  /** Undefined if this is the last part. */
  next: SeriesExportPosition | undefined
}

export interface PointLimits {
  points: number
  /** Maximum bytes of the JSON text of the points. */
  bytes: number
}

/** The limit that the found points exceed. If they exceed both limits, it may be either. */
export type ExceededLimit = 'more points' | 'more bytes'

export interface TimeSeries {
  /**
   * Stores either all samples of a message or no sample, and publishes `received` in the same commit. Rejects the message if one of its
   * samples is invalid.
   */
  collect(message: DeviceMessage, samples: unknown[], received?: ReceivedMessage): Promise<void>
  /** Sets the service that stores its own rows with every sample. Only one service can be set. */
  setCompanion(companion: SampleCompanion): void
  /**
   * Processes samples on behalf of an endpoint's device. The samples take the same path as a message of the device: either all samples are
   * stored, or no sample. The events about the samples contain `cause`, which rules use to limit chains of runs.
   */
  receive(endpoint: DeviceEndpoint, samples: unknown[], options: { cause: string }): Promise<void>
  /**
   * Stores all points or no point. The caller must make sure that the endpoints have this version. The events about the points contain
   * `cause`.
   */
  putPoints(
    version: { tenantId: string; applicationName: string; versionName: string; cause?: string },
    points: NewPoint[],
  ): Promise<void>
  /** Returns at most `limits.points` of an endpoint's newest points in a series, newest first. */
  lastPoints(series: SeriesOfEndpoint, limits: PointLimits): Promise<Point[] | 'more bytes'>
  /** Returns the points between two times, both included, oldest first. */
  pointsBetween(
    series: SeriesOfEndpoint,
    span: { from: number; to: number },
    limits: PointLimits,
  ): Promise<Point[] | ExceededLimit>
  /** Returns the samples in a message of a device, or undefined if the message has no samples or is invalid. */
  samplesOf(message: { resourcePath: string; payload: Buffer }): unknown[] | undefined
  /** Parses ISO 8601, `now` or `now-15m` to milliseconds. Returns undefined for any other text. */
  timeOf(text: string | number): number | undefined
  /** Returns the latest values by endpoint number. The result includes everything that this node has stored so far. */
  latestValues(endpointNos: number[]): Promise<Map<number, LatestValue[]>>
  /** Checks an export request; throws 400, 403 or 404. */
  checkExport(ctx: Ctx, request: SeriesExportRequest): Promise<SeriesExport>
  /** Reads the points of the next endpoints after `position` that the caller may read, as lines of CSV or JSON. */
  exportPart(
    ctx: Ctx,
    selection: SeriesExport,
    at: { format: 'csv' | 'ndjson'; position: SeriesExportPosition | undefined },
  ): Promise<SeriesExportPart>
  /** Previews the configured retention, or a proposed retention. */
  previewRetention(
    application: { tenantId: string; applicationName: string },
    proposed?: RetentionConfiguration,
  ): Promise<RetentionEffect>
}
export const TimeSeries = contract<TimeSeries>('time-series')
