import { contentPage, offsetQuery } from '../../kernel/paging.ts'
import { Bytes, DateTime, Empty, Name, RequestTime, Text, TextList, Type } from '../../kernel/schema.ts'

const url = { description: 'Address to download the content from.' }
const size = { description: 'Size of the content in bytes.' }
const ofEndpointText = 'Id of the endpoint that uploaded the blob.'

const FileDescriptor = Type.Object(
  {
    name: Name({ description: 'Name of the file, unique for the endpoint.' }),
    endpointId: Name({ description: ofEndpointText }),
    url: Type.Optional(Type.String(url)),
    size: Type.Optional(Type.Integer(size)),
    createdDate: DateTime({ description: 'Time at which the file was first uploaded, in UTC.' }),
    updatedDate: DateTime({ description: 'Time at which the file was last uploaded, in UTC.' }),
  },
  { title: 'File', description: 'A file of an endpoint. A new upload of the same name replaces the file.' },
)
const described = {
  id: Name({ description: 'Id of the blob.' }),
  name: Type.String({ description: 'Name that was given with the upload, or the id of a blob without a name.' }),
  url: Type.String(url),
  size: Type.Integer(size),
  createdDate: DateTime({ description: 'Time at which the upload was complete, in UTC.' }),
}
const Blob = Type.Object(described, {
  title: 'Blob',
  description: 'A blob of an endpoint; every upload creates a new blob.',
})
const ListedBlob = Type.Object(
  { ...described, endpointId: Name({ description: ofEndpointText }) },
  { title: 'ListedBlob', description: 'A blob in a list, with its endpoint.' },
)

const sort = Type.Enum(['ASC', 'DESC'], {
  default: 'ASC',
  description: 'Order by `createdDate`. ASC: oldest first. DESC: newest first. Default: ASC.',
})
const endpointIds = Type.Optional(
  TextList({ description: 'Only items of these endpoints (ids). Default: all endpoints that the caller may read.' }),
)
const fromDate = RequestTime({ description: 'Only items created at this date and time or later.' })
const toDate = RequestTime({ description: 'Only items created at this date and time or earlier.' })

const appName = Name({ description: 'Name of the application.' })
const endpointId = Name({ description: 'Id of the endpoint.' })
const blobId = Name({ description: 'Id of the blob.' })
const ofApplication = Type.Object({ appName })
const noApplication = {
  404: 'The application does not exist, or the caller may read neither it nor an endpoint of it.',
}
const listQuery = Type.Object({
  endpointId: endpointIds,
  name: Type.Optional(Text({ description: 'Only items whose name contains this text. Default: all.' })),
  fromDate: Type.Optional(fromDate),
  toDate: Type.Optional(toDate),
  ...offsetQuery(20),
  sort,
})

export const listFiles = {
  name: 'files.list',
  summary: 'List files of endpoints',
  params: ofApplication,
  query: listQuery,
  response: { 200: contentPage(FileDescriptor) },
  fails: noApplication,
}
export const listBlobs = {
  name: 'blobs.list',
  summary: 'List blobs of endpoints',
  params: ofApplication,
  query: listQuery,
  response: { 200: contentPage(ListedBlob) },
  fails: noApplication,
}
export const groupBlobs = {
  name: 'blobs.byEndpoint.list',
  summary: 'List blobs of a period, grouped by endpoint',
  description: 'Each object of the array has blobs of one endpoint. The same endpoint may occur in several objects.',
  params: ofApplication,
  query: Type.Object({
    endpointId: endpointIds,
    fromDate,
    toDate,
    sort,
  }),
  response: {
    200: Type.Array(
      Type.Record(Type.String(), Type.Array(Blob), {
        title: 'BlobsByEndpoint',
        description: 'Blobs by id of the endpoint.',
      }),
      { description: 'The blobs of the period.' },
    ),
  },
  fails: noApplication,
}

// ── single files and blobs

const filename = Name({
  description: 'Name of the file: 1 to 255 characters without slashes, backslashes and control characters.',
})
const ofFile = Type.Object({ appName, endpointId, filename })
const ofBlob = Type.Object({ appName, endpointId, blobId })
const ofEndpoint = Type.Object({ appName, endpointId })
const noFile = { 404: 'There is no such file of this endpoint in this application, or the caller may not read it.' }
const noBlob = { 404: 'There is no such blob of this endpoint in this application, or the caller may not read it.' }
const content = {
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
}
const noRange = {
  412: 'The content has changed: its ETag is not in `If-Match`.',
  416: 'The content has no bytes in the requested `Range`.',
}

export const readFile = {
  name: 'files.download',
  summary: 'Download a file',
  params: ofFile,
  ...content,
  fails: { ...noFile, ...noRange },
}
export const deleteFile = {
  name: 'files.delete',
  summary: 'Delete a file',
  params: ofFile,
  response: { 204: Empty() },
  fails: noFile,
}
export const readBlob = {
  name: 'blobs.get',
  summary: 'Get the descriptor of a blob',
  params: ofBlob,
  response: { 200: Blob },
  fails: noBlob,
}
export const readBlobContent = {
  name: 'blobs.download',
  summary: 'Download a blob',
  params: ofBlob,
  ...content,
  fails: { ...noBlob, ...noRange },
}
export const readLastBlob = {
  name: 'blobs.latest.download',
  summary: 'Download the newest blob of an endpoint',
  params: ofEndpoint,
  ...content,
  fails: { 404: 'The endpoint has no blob in this application, or the caller may not read it.', ...noRange },
}
export const deleteBlob = {
  name: 'blobs.delete',
  summary: 'Delete a blob',
  params: ofBlob,
  response: { 204: Empty() },
  fails: noBlob,
}

// ── uploads

const body = Bytes({ description: 'The content, of any size and type.' })
const bodyType = 'application/octet-stream'
const digest = (description: string) => Type.Optional(Type.String({ description }))
const headers = Type.Object({
  'content-digest': digest(
    'Checksum of the content as `sha-256=:<base64>:` (RFC 9530). If it does not match, the answer is 400 and nothing is stored.',
  ),
  'repr-digest': digest('The same as `Content-Digest`.'),
})
const uploadFails = {
  400: 'A parameter is malformed, or the content does not match its digest, is only a part, or ended before it was complete.',
  413: "The content exceeds what is left of the tenant's storage quota.",
  429: 'The endpoint has too many uploads at the same time. `Retry-After` holds the seconds to wait.',
  503: 'The database or the blob store does not work at the moment; nothing was stored. Try again later.',
}

export const createUploadToken = {
  name: 'files.uploadTokens.create',
  summary: 'Create an upload token for an endpoint',
  description:
    'For a caller who uploads a file or blob on behalf of the device: send the token in the header `X-Auth-Token` of the upload. The endpoint needs a token ' +
    'that is neither suspended nor revoked.',
  params: ofEndpoint,
  response: {
    201: Type.Object(
      {
        token: Type.String({ description: 'The token. Keep it secret; no other answer has it.' }),
        expiresDate: DateTime({ description: 'Time at which the token expires, in UTC.' }),
      },
      { title: 'UploadToken', description: 'A token that permits uploads of one endpoint.' },
    ),
  },
  fails: {
    404: 'There is no such endpoint in this application, or the caller may not read it.',
    429: 'The endpoint has 10,000 valid upload tokens. `Retry-After` holds the seconds to wait.',
  },
}
export const uploadBlob = {
  name: 'blobs.upload',
  summary: 'Upload a blob as an endpoint',
  description:
    'Stores a new blob of the endpoint that the upload token belongs to. The device gets the token from the extension `bcx`.',
  query: Type.Object({
    name: Type.Optional(Text({ description: 'Name to store with the blob. Default: the id of the blob.' })),
  }),
  headers,
  body,
  bodyType,
  response: { 201: Empty('The blob was stored; `Location` holds its address.') },
  fails: uploadFails,
}
export const uploadFile = {
  name: 'files.upload',
  summary: 'Upload a file as an endpoint',
  description:
    'Stores a file of the endpoint that the upload token belongs to, or replaces it as a whole. The device gets the token from ' +
    'the extension `bcx`.',
  params: Type.Object({ filename }),
  headers,
  body,
  bodyType,
  response: { 204: Empty('The file was stored or replaced.') },
  fails: { ...uploadFails, 404: 'There is nothing at this path.' },
}
