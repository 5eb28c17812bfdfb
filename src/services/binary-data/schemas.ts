import { contentPage, offsetQuery } from '../../kernel/paging.ts'
import { Bytes, DateTime, DateTimeText, Empty, Name, Text, TextList, Type } from '../../kernel/schema.ts'

const FileDescriptor = Type.Object(
  {
    name: Name(),
    endpointId: Name(),
    url: Type.Optional(Type.String({ description: 'Where its content is' })),
    size: Type.Optional(Type.Integer({ description: 'In bytes' })),
    createdDate: DateTime(),
    updatedDate: DateTime({ description: 'When it was uploaded last' }),
  },
  { title: 'File' },
)
const described = {
  id: Name(),
  name: Type.String(),
  url: Type.String({ description: 'Where its content is' }),
  size: Type.Integer({ description: 'In bytes' }),
  createdDate: DateTime(),
}
const Blob = Type.Object(described, { title: 'Blob' })
const ListedBlob = Type.Object({ ...described, endpointId: Name() }, { title: 'ListedBlob' })

const sort = Type.Enum(['ASC', 'DESC'], { default: 'ASC', description: 'By createdDate; DESC: the newest first' })
const endpointId = Type.Optional(TextList({ description: 'Of these endpoints; default: all that the caller may read' }))

const ofApplication = Type.Object({ appName: Name() })
const listQuery = Type.Object({
  endpointId,
  name: Type.Optional(Text({ description: 'Part of the name' })),
  fromDate: Type.Optional(DateTimeText({ description: 'Created then or later' })),
  toDate: Type.Optional(DateTimeText({ description: 'Created then or earlier' })),
  ...offsetQuery(20),
  sort,
})

export const listFiles = {
  name: 'files.list',
  summary: 'List files of endpoints',
  params: ofApplication,
  query: listQuery,
  response: { 200: contentPage(FileDescriptor) },
}
export const listBlobs = {
  name: 'blobs.list',
  summary: 'List blobs of endpoints',
  params: ofApplication,
  query: listQuery,
  response: { 200: contentPage(ListedBlob) },
}
export const groupBlobs = {
  name: 'blobs.byEndpoint.list',
  summary: 'List blobs of a time, by endpoint',
  description:
    'All blobs of a time, in one object for each endpoint; the same endpoint may come again in a later object.',
  params: ofApplication,
  query: Type.Object({
    endpointId,
    fromDate: DateTimeText({ description: 'Created then or later' }),
    toDate: DateTimeText({ description: 'Created then or earlier' }),
    sort,
  }),
  response: { 200: Type.Array(Type.Record(Type.String(), Type.Array(Blob), { title: 'BlobsByEndpoint' })) },
}

// ── single ones

const ofFile = Type.Object({ appName: Name(), endpointId: Name(), filename: Name() })
const ofBlob = Type.Object({ appName: Name(), endpointId: Name(), blobId: Name() })
const ofEndpoint = Type.Object({ appName: Name(), endpointId: Name() })
const content = {
  headers: Type.Object({
    range: Type.Optional(Type.String({ description: '`bytes=0-99`: one part of the content' })),
    'if-range': Type.Optional(Type.String({ description: 'The part only while this is the ETag, else the whole' })),
  }),
  response: { 200: Bytes({ description: 'The content' }), 206: Bytes(), 304: Empty() },
  fails: [416],
}

export const readFile = {
  name: 'files.download',
  summary: 'Download a file',
  params: ofFile,
  ...content,
}
export const deleteFile = {
  name: 'files.delete',
  summary: 'Delete a file',
  params: ofFile,
  response: { 204: Empty() },
}
export const readBlob = {
  name: 'blobs.get',
  summary: 'Get what is known of a blob',
  params: ofBlob,
  response: { 200: Blob },
}
export const readBlobContent = {
  name: 'blobs.download',
  summary: 'Download a blob',
  params: ofBlob,
  ...content,
}
export const readLastBlob = {
  name: 'blobs.latest.download',
  summary: 'Download the newest blob of an endpoint',
  params: ofEndpoint,
  ...content,
}
export const deleteBlob = {
  name: 'blobs.delete',
  summary: 'Delete a blob',
  params: ofBlob,
  response: { 204: Empty() },
}

// ── uploads

const body = Bytes({ description: 'The content, of any size' })
const bodyType = 'application/octet-stream'
const digest = (what: string) =>
  Type.Optional(Type.String({ description: `\`sha-256=:…:\` (RFC 9530) of the ${what}` }))
const headers = Type.Object({
  'content-digest': digest('content: 400 when another one arrives'),
  'repr-digest': digest('content, as Content-Digest'),
})

export const uploadBlob = {
  name: 'blobs.upload',
  summary: 'Upload a blob as an endpoint',
  description: 'Stores a blob of the endpoint to which the upload token belongs.',
  query: Type.Object({ name: Type.Optional(Text({ description: 'Stored with it; default: its id' })) }),
  headers,
  body,
  bodyType,
  response: { 201: Empty('Stored; Location names it') },
}
export const uploadFile = {
  name: 'files.upload',
  summary: 'Upload a file as an endpoint, or replace it',
  description: 'Stores a file of the endpoint to which the upload token belongs, or overwrites it as a whole.',
  params: Type.Object({ filename: Name() }),
  headers,
  body,
  bodyType,
  response: { 204: Empty('Uploaded or overwritten') },
}
