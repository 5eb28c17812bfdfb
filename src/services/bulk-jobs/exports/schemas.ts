import { failure } from '../../../kernel/error-formats.ts'
import { BodyTime, Bytes, describedAs, Name, Text, Type } from '../../../kernel/schema.ts'
import { JobDetails, noJob, ofJob } from '../schemas.ts'
import { Selection } from '../selection-schema.ts'

const file = {
  format: Type.Enum(['csv', 'ndjson'], {
    description: 'csv: RFC 4180 with a header line. ndjson: a JSON object in each line.',
  }),
  gzip: Type.Optional(Type.Boolean({ description: 'True when the file is compressed with gzip. Default: false.' })),
}
const created = {
  response: {
    201: JobDetails,
    409: failure('The tenant has too many jobs that have not ended. Nothing was created.'),
  },
  fails: { 403: 'The caller lacks a scope, or it has no account whose permissions the export could use.' },
}
const fileText =
  'The job writes a file, which its creator can download for three days after its end. Texts that a spreadsheet would read as a formula get ' +
  'an apostrophe in front in CSV. The export reads with the current permissions of its creator, and ends if these permissions are withdrawn.'

export const exportEndpoints = {
  name: 'jobs.endpointExports.create',
  summary: 'Export endpoints with their metadata by a job',
  description: `The endpoints are in the order of their registration; endpoints that are registered during the export may be included. ${fileText}`,
  body: Type.Object(
    {
      select: describedAs(Selection, 'The endpoints to export, among the endpoints that the caller may read.'),
      metadataKeys: Type.Optional(
        Type.Array(Name({ pattern: '^[a-zA-Z0-9_]+$', maxLength: 128, description: 'Metadata key.' }), {
          minItems: 1,
          maxItems: 500,
          description:
            'Export only these metadata keys, in CSV each in a column of its own. Default: all, in CSV as JSON in one column.',
        }),
      ),
      ...file,
    },
    {
      title: 'NewEndpointExport',
      description: 'The endpoints to export, and the format of the file.',
      examples: [{ select: { applicationName: 'greenhouse' }, metadataKeys: ['city', 'floor'], format: 'csv' }],
    },
  ),
  ...created,
}

export const exportSeries = {
  name: 'jobs.seriesExports.create',
  summary: 'Export time series by a job',
  description: `The points are ordered by endpoint, then by series, the oldest points first. ${fileText}`,
  body: Type.Object(
    {
      applicationName: Name({ description: 'Name of the application.' }),
      endpointIds: Type.Optional(
        Type.Array(Name({ description: 'Id of an endpoint.' }), {
          maxItems: 10_000,
          description: 'Only points of these endpoints (ids). Default: all endpoints that the caller may read.',
        }),
      ),
      timeSeriesNames: Type.Optional(
        Type.Array(Text({ maxLength: 300, description: 'Name of a series.' }), {
          maxItems: 10_000,
          description: 'Only these series (names). Default: all.',
        }),
      ),
      fromDate: BodyTime({ description: 'Only points after this time.' }),
      toDate: BodyTime({ description: 'Only points before this time.' }),
      includeTime: Type.Optional(
        Type.Enum(['from', 'to', 'both', 'none'], { description: 'Bounds that are inclusive. Default: none.' }),
      ),
      aggregate: Type.Optional(
        Type.Enum(['avg', 'min', 'max', 'sum', 'count', 'first', 'last'], {
          description:
            'One point for each `interval`, as in queries of points. Default: none, all points are exported.',
        }),
      ),
      interval: Type.Optional(
        Type.String({
          maxLength: 6,
          pattern: '^[1-9][0-9]{0,4}[smhdwMy]$',
          description: 'Length of the intervals of `aggregate`, such as `15m` or `1d`. Required with `aggregate`.',
        }),
      ),
      timeZone: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 64,
          description: 'Time zone of the intervals, such as `Europe/Berlin`. Only with `interval`. Default: UTC.',
        }),
      ),
      ...file,
    },
    {
      title: 'NewSeriesExport',
      description: 'The points to export, and the format of the file.',
      examples: [
        {
          applicationName: 'greenhouse',
          timeSeriesNames: ['auto~temperature'],
          fromDate: '2026-06-01',
          toDate: '2026-07-01',
          format: 'csv',
          gzip: true,
        },
      ],
    },
  ),
  ...created,
  fails: { ...created.fails, 404: 'The application does not exist, or the caller may not read it.' },
}

export const exportTraffic = {
  name: 'jobs.trafficExports.create',
  summary: 'Export the traffic log by a job',
  description: `Messages of endpoints that the caller may read, the oldest first. ${fileText}`,
  body: Type.Object(
    {
      endpointIds: Type.Optional(
        Type.Array(Name({ description: 'Id of an endpoint.' }), {
          minItems: 1,
          maxItems: 1000,
          description: 'Only messages of these endpoints (ids). Default: all.',
        }),
      ),
      appVersionName: Type.Optional(Name({ description: 'Only messages of this application version. Default: all.' })),
      extension: Type.Optional(
        Name({ maxLength: 64, description: 'Only messages of this extension, such as `dcx`. Default: all.' }),
      ),
      resourcePath: Type.Optional(
        Name({ maxLength: 1024, description: 'Only messages whose resource path contains this text. Default: all.' }),
      ),
      payload: Type.Optional(
        Name({ maxLength: 1024, description: 'Only messages whose payload contains this text. Default: all.' }),
      ),
      fromCreatedAt: Type.Optional(
        BodyTime({ description: 'Only records from this date and time on (inclusive). Default: the oldest.' }),
      ),
      toCreatedAt: Type.Optional(
        BodyTime({ description: 'Only records up to this date and time (inclusive). Default: now.' }),
      ),
      ...file,
    },
    {
      title: 'NewTrafficExport',
      description: 'The messages to export, and the format of the file.',
      examples: [{ endpointIds: ['thermo-1'], fromCreatedAt: 'now-1d', format: 'ndjson' }],
    },
  ),
  ...created,
}

export const downloadFile = {
  name: 'jobs.file.download',
  summary: 'Download the file of an export',
  description:
    'Only the caller who created the export can download it. Supports ranges. `links.create` makes a link that needs no header.',
  params: ofJob,
  response: {
    200: Bytes({ description: 'The file.' }),
    409: failure('The export has not finished, or was canceled.'),
  },
  fails: {
    403: 'Another caller created the export.',
    404: `${noJob} Or it has no file, or its file has expired.`,
    412: 'The content has changed: its ETag is not in `If-Match`.',
    416: 'The requested range does not exist.',
  },
}
