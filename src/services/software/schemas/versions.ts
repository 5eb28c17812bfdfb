import { AnyJson, Bytes, DateTime, describedAs, Empty, ifMatchFails, Name, Type } from '../../../kernel/schema.ts'
import { appName, noApplication, noSoftware, ofApplication, ofVersion, softwareVersion } from './common.ts'

// ── versions

const RolloutFilter = Type.Object(
  {
    filterId: Name({ description: 'Id of a filter of the application.' }),
    rolloutDate: Type.Optional(
      Type.String({
        pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$',
        maxLength: 20,
        description:
          "Endpoints of the filter are offered the version from this time on (UTC, `yyyy-MM-dd'T'HH:mm:ss'Z'`). Default: immediately.",
        examples: ['2026-09-01T08:00:00Z'],
      }),
    ),
  },
  { title: 'SoftwareRolloutFilter', description: 'A filter whose endpoints are offered a `targeted` version.' },
)
const percent = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: 'The rollout halts if this share of the reports are failures, in percent.',
})
const minimumAttempts = Type.Integer({
  minimum: 1,
  maximum: 1_000_000_000,
  description: 'Number of endpoints that must have reported the version before the rollout can halt. Default: 10.',
})
const NewFailureThreshold = Type.Object(
  { percent, minimumAttempts: Type.Optional(minimumAttempts) },
  {
    title: 'NewSoftwareFailureThreshold',
    description: 'Condition under which the platform halts the rollout of a version.',
  },
)
const FailureThreshold = Type.Object(
  { percent, minimumAttempts },
  {
    title: 'SoftwareFailureThreshold',
    description: 'Condition under which the platform halts the rollout of a version.',
  },
)

const strategies = ['suspended', 'targeted', 'general'] as const
export const rolloutStrategy = Type.Enum([...strategies], {
  description:
    'suspended: the version is offered to no endpoint. targeted: to endpoints that the upgrade graph allows and that match one of ' +
    '`filters`. general: to all endpoints that the upgrade graph allows.',
})
const upgradableFrom = Type.Array(Name({ description: 'A version of the application.' }), {
  maxItems: 500,
  description:
    'Versions from which an endpoint can be upgraded to this version. Empty: a starting point, which is never offered. Default: empty.',
  examples: [['1.0.0', '1.1.0']],
})
const filters = Type.Array(RolloutFilter, {
  maxItems: 100,
  description: 'Filters for the strategy `targeted`. An endpoint must match one whose date has passed. Default: empty.',
})
const skipDispatchingToEndpoint = Type.Boolean({
  description: 'True when the version is offered only once its file is uploaded. Default: false.',
})
const metadata = AnyJson({
  description: 'Any JSON for people and tools; devices do not get it.',
  examples: [{ notes: 'Fixes the clock' }],
})
const specification = AnyJson({
  description:
    'Any JSON, sent to devices as `config`, at most 1,000,000 bytes. Versions with a file need an object, to which `link` is added. ' +
    'Default: an empty object for devices.',
  examples: [{ board: 'esp32' }],
})
const filename = Name({
  description: 'Name of the software file. If it is set, only a file with this name can be uploaded.',
})

const changed = {
  metadata: Type.Optional(metadata),
  upgradableFrom: Type.Optional(upgradableFrom),
  rolloutStrategy,
  filters: Type.Optional(filters),
  skipDispatchingToEndpoint: Type.Optional(skipDispatchingToEndpoint),
  failureThreshold: Type.Optional(
    describedAs(
      NewFailureThreshold,
      'Condition under which the platform halts the rollout. Default: the platform never halts it.',
    ),
  ),
}
const NewSoftware = Type.Object(
  { specification: Type.Optional(specification), ...changed, filename: Type.Optional(filename) },
  { title: 'NewSoftware', description: 'A new software version.' },
)
const SoftwareUpdate = Type.Object(changed, {
  title: 'SoftwareUpdate',
  description:
    'Replaces these fields of a version; missing fields get their default. The specification and the file stay.',
})

const states = ['active', 'paused', 'halted'] as const
export const rolloutState = Type.Enum([...states], {
  description:
    'active: the version is offered. paused: stopped by a person. halted: stopped because the failure threshold was reached.',
})
export const warnings = Type.Array(Type.String({ description: 'A sentence.' }), {
  description: 'Problems of the upgrade graph: the version lies on a cycle, or no starting point leads to it.',
})

const Software = Type.Object(
  {
    appName,
    version: softwareVersion,
    specification: Type.Optional(specification),
    metadata: Type.Optional(metadata),
    upgradableFrom,
    rolloutStrategy,
    filters,
    skipDispatchingToEndpoint,
    filename: Type.Optional(filename),
    failureThreshold: Type.Optional(FailureThreshold),
    fileSize: Type.Optional(Type.Integer({ description: 'Size of the file in bytes. Omitted if there is no file.' })),
    fileChecksum: Type.Optional(Type.String({ description: 'SHA-256 of the file, hexadecimal.' })),
    rolloutState,
    warnings,
    createdDate: DateTime({ description: 'Time at which the version was created, in UTC.' }),
    updatedDate: DateTime({ description: 'Time of the last change of the version, its file or its rollout, in UTC.' }),
  },
  { title: 'Software', description: 'A software version of an application.' },
)

const ifMatch = Type.Object({
  'if-match': Type.Optional(
    Type.String({ description: 'ETag of the version: the change is made only if it still has this ETag.' }),
  ),
})

export const listSoftware = {
  name: 'software.list',
  summary: 'List the software versions of an application',
  description: 'The versions are in the order of their precedence, the lowest first.',
  params: ofApplication,
  response: { 200: Type.Array(Software, { description: 'All versions of the application.' }) },
  fails: noApplication,
}
export const readSoftware = {
  name: 'software.get',
  summary: 'Get a software version',
  params: ofVersion,
  headers: Type.Object({
    'if-none-match': Type.Optional(Type.String({ description: 'ETag of the version that the caller has.' })),
  }),
  response: { 200: Software, 304: Empty('The version has not changed.') },
  fails: noSoftware,
}
export const createSoftware = {
  name: 'software.create',
  summary: 'Create a software version',
  description: 'Connected endpoints for which the version is the new target get it immediately.',
  params: ofVersion,
  body: NewSoftware,
  response: { 201: describedAs(Software, 'The version was created; `Location` holds its address.') },
  fails: {
    ...noApplication,
    409: 'The application already has this version.',
    413: 'The specification has more than 1,000,000 bytes of JSON, or the body is too large.',
  },
}
export const updateSoftware = {
  name: 'software.update',
  summary: 'Change the rollout of a software version',
  params: ofVersion,
  headers: ifMatch,
  body: SoftwareUpdate,
  response: { 204: Empty() },
  fails: { ...noSoftware, ...ifMatchFails },
}
export const deleteSoftware = {
  name: 'software.delete',
  summary: 'Delete a software version and its file',
  description: 'The version is also removed from `upgradableFrom` of other versions.',
  params: ofVersion,
  headers: ifMatch,
  response: { 204: Empty() },
  fails: { ...noSoftware, ...ifMatchFails, 409: 'At least one endpoint runs this version.' },
}

// ── files

const digest = (description: string) => Type.Optional(Type.String({ description }))

export const uploadSoftwareFile = {
  name: 'software.file.upload',
  summary: 'Upload the file of a software version',
  description: 'Stores the file, or replaces it as a whole. Devices get a signed link to it in `config.link`.',
  params: ofVersion,
  query: Type.Object({
    filename: Type.Optional(
      Name({
        description:
          'Name of the file: 1 to 255 characters without slashes and control characters. Default: `filename` of the version.',
      }),
    ),
  }),
  headers: Type.Object({
    'content-digest': digest(
      'Checksum of the content as `sha-256=:<base64>:` (RFC 9530). If it does not match, the answer is 400 and nothing is stored.',
    ),
    'repr-digest': digest('The same as `Content-Digest`.'),
  }),
  body: Bytes({ description: 'The content, of any size and type.' }),
  bodyType: 'application/octet-stream',
  response: { 204: Empty('The file was stored or replaced. `ETag` holds its SHA-256.') },
  fails: {
    ...noSoftware,
    400: 'A parameter is malformed, the name is missing or differs from the name in the version, the specification is not an object, or the content does not match its digest.',
    409: 'The tenant was deleted during the upload.',
    413: "The content exceeds what is left of the tenant's storage quota.",
    503: 'The database or the blob store does not work at the moment; nothing was stored. Try again later.',
  },
}
export const downloadSoftwareFile = {
  name: 'software.file.download',
  summary: 'Download the file of a software version',
  description: 'Devices use the link that they got, which has `expires` and `signature` and needs no credentials.',
  params: ofVersion,
  query: Type.Object({
    expires: Type.Optional(
      Type.String({ maxLength: 20, description: 'End of the validity of a signed link, in seconds since 1970.' }),
    ),
    signature: Type.Optional(
      Type.String({
        maxLength: 4096,
        description: 'Signature of a signed link. Without a signature, the caller needs credentials.',
      }),
    ),
  }),
  headers: Type.Object({
    range: Type.Optional(
      Type.String({
        description: 'Part of the content to return, in bytes, such as `bytes=0-99`. Default: all of it.',
      }),
    ),
    'if-range': Type.Optional(
      Type.String({
        description:
          'ETag: `Range` applies only while the content has this ETag; otherwise the whole content is returned.',
      }),
    ),
  }),
  response: {
    200: Bytes({ description: 'The content. `ETag` and `Repr-Digest` hold its SHA-256.' }),
    206: Bytes({ description: 'The part of the content that `Range` asks for.' }),
    304: Empty(),
  },
  fails: {
    403: 'The signature of the link is wrong or expired.',
    404: 'There is no such version or file, the file was replaced since the link was made, or the caller lacks the scope.',
    412: 'The content has changed: its ETag is not in `If-Match`.',
    416: 'The content has no bytes in the requested `Range`.',
  },
}
