import { failure } from '../../kernel/error-formats.ts'
import { Bytes, DateTime, Type } from '../../kernel/schema.ts'

export const createLink = {
  name: 'links.create',
  summary: 'Create a link that downloads one resource without a header',
  description:
    'For browsers and other programs that cannot send a token: a file or blob of an endpoint, or the file of an export. The link is valid for ' +
    'some minutes, on every node, and acts with the current permissions of its creator: the link stops working when these permissions are withdrawn.',
  body: Type.Object(
    {
      path: Type.String({
        minLength: 1,
        maxLength: 2048,
        description: 'Path of the download on this platform, or its URL as another operation returned it.',
      }),
      validSeconds: Type.Optional(
        Type.Integer({ minimum: 10, maximum: 3600, description: 'Seconds until the link expires. Default: 300.' }),
      ),
    },
    {
      title: 'NewLink',
      description: 'The resource that a link downloads.',
      examples: [{ path: '/jobs/api/v1/jobs/2f6a1b0e-4f0e-4e6c-9d0a-8a1c5f0e7b11/file', validSeconds: 60 }],
    },
  ),
  response: {
    201: Type.Object(
      {
        url: Type.String({ description: 'Address of the download. Treat it as a secret: it needs no token.' }),
        expiresDate: DateTime({ description: 'Time at which the link expires, in UTC.' }),
      },
      { title: 'Link', description: 'A link to one resource.' },
    ),
    409: failure('The resource has no content yet, such as an export that has not finished.'),
  },
  fails: {
    400: 'The address is not the address of a download of this platform.',
    403: 'The caller may not download it, or it has no account whose permissions the link could use.',
    404: 'The resource does not exist, or the caller may not read it.',
  },
}

export const downloadLink = {
  name: 'links.content.download',
  summary: 'Download the resource of a link',
  description: 'The request needs no token, because the link itself is the permission. Ranges are supported.',
  query: Type.Object({
    token: Type.String({
      minLength: 1,
      maxLength: 8192,
      description: 'Token of the link, which is part of its `url`.',
    }),
  }),
  response: { 200: Bytes({ description: 'The content of the resource.' }) },
  fails: {
    404: 'The link is wrong or has expired, its creator may not use it any more, or the resource was deleted.',
    416: 'The requested range does not exist.',
  },
}
