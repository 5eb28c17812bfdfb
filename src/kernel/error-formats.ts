/** The JSON bodies of errors. Documents 1 and 2 define one of three formats for each API. */
import type { PlatformError } from './errors.ts'
import { describedAs, Type } from './schema.ts'

/** The format of error bodies in an API. All formats are made from the same errors. */
export interface ErrorFormat {
  name: string
  body(error: PlatformError): Record<string, unknown>
  schema: ReturnType<typeof Type.Object>
}

/** Writes `{message}`, and `{message, errors}` for 422. Most services use this format. */
export const messageFormat: ErrorFormat = {
  name: 'message',
  body: (error) => ({ message: error.message, ...error.details }),
  schema: Type.Object(
    {
      message: Type.String({ description: 'Description of the problem; it names the field or object that is wrong.' }),
    },
    {
      title: 'Error',
      additionalProperties: true,
      description: 'An error. Some operations add fields, which their description names.',
    },
  ),
}

/** Returns the schema of an error response, with its own description in the API reference. */
export const failure = (description: string) => describedAs(messageFormat.schema, description)

/** Writes `{error, details?}`. Tenant manager v2 uses this format. */
export const errorDetailsFormat: ErrorFormat = {
  name: 'error',
  body: (error) => {
    const details = { ...error.fields, ...error.details }
    return Object.keys(details).length > 0 ? { error: error.message, details } : { error: error.message }
  },
  schema: Type.Object(
    {
      error: Type.String({ description: 'Description of the problem; it names the field or object that is wrong.' }),
      details: Type.Optional(
        Type.Object({}, { additionalProperties: true, description: 'Problems by field, each an array of texts.' }),
      ),
    },
    { title: 'ErrorWithDetails', description: 'An error of tenant manager v2.' },
  ),
}

/** Writes `{detail, message}`, and for 400 also texts by field. Tenant manager v1 uses this format (document 3, 2.13). */
export const detailFormat: ErrorFormat = {
  name: 'detail',
  body: (error) => ({
    ...(error.status === 400 ? error.fields : undefined),
    detail: error.message,
    message: error.message,
  }),
  schema: Type.Object(
    {
      detail: Type.String({ description: 'Description of the problem; it names the field or object that is wrong.' }),
      message: Type.String({ description: 'The same text as `detail`.' }),
    },
    {
      title: 'ErrorWithFields',
      additionalProperties: true,
      description: 'An error of tenant manager v1. With status 400, every wrong field is a key with an array of texts.',
    },
  ),
}
