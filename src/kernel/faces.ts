import type { PlatformError } from './errors.ts'
import { Type } from './schema.ts'

/** How a service words its errors. The model inside is the same for all. */
export interface Face {
  name: string
  body(error: PlatformError): Record<string, unknown>
  schema: ReturnType<typeof Type.Object>
}

/** `{message}`, and for 422 `{message, errors}`: most services. */
export const messageFace: Face = {
  name: 'message',
  body: (error) => ({ message: error.message, ...error.details }),
  schema: Type.Object({ message: Type.String() }, { title: 'Error', additionalProperties: true }),
}

/** A failure of an operation with a text of its own in the API reference, where the common one says too little. */
export const failure = (description: string) => ({ ...messageFace.schema, description })

/** `{error, details?}`: tenant manager v2. */
export const errorFace: Face = {
  name: 'error',
  body: (error) => {
    const details = { ...error.fields, ...error.details }
    return Object.keys(details).length > 0 ? { error: error.message, details } : { error: error.message }
  },
  schema: Type.Object(
    { error: Type.String(), details: Type.Optional(Type.Object({}, { additionalProperties: true })) },
    { title: 'ErrorWithDetails' },
  ),
}

/** `{detail, message}` and field → messages for 400: tenant manager v1 (document 3, 2.13). */
export const detailFace: Face = {
  name: 'detail',
  body: (error) => ({
    ...(error.status === 400 ? error.fields : undefined),
    detail: error.message,
    message: error.message,
  }),
  schema: Type.Object(
    { detail: Type.String(), message: Type.String() },
    { title: 'ErrorWithFields', additionalProperties: true },
  ),
}
