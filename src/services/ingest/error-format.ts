/** Writes errors in a format that both our clients and clients of the search engine can read (document 5, 7.3). */
import type { ErrorFormat } from '../../kernel/error-formats.ts'
import type { PlatformError } from '../../kernel/errors.ts'
import { Type } from '../../kernel/schema.ts'

const typesByStatus: Record<number, string> = {
  401: 'security_exception',
  403: 'security_exception',
  404: 'resource_not_found_exception',
  413: 'content_too_long_exception',
  415: 'content_type_exception',
  429: 'es_rejected_execution_exception',
}

/** The error types of the search engine, by our error code. */
const typesByCode: Record<string, string> = {
  no_such_index: 'index_not_found_exception',
  query_invalid: 'parsing_exception',
  search_too_long: 'timeout_exception',
}

function typeOf({ status, code, details }: PlatformError): string {
  if (typeof details?.type === 'string') return details.type
  return typesByCode[code] ?? typesByStatus[status] ?? (status < 500 ? 'illegal_argument_exception' : 'exception')
}

const causeOf = (type: string, reason: string) => ({ root_cause: [{ type, reason }], type, reason })

const Reason = {
  type: Type.String({ description: 'Kind of the error, in the words of the search engine.' }),
  reason: Type.String({ description: 'Description of the problem; it names the field or object that is wrong.' }),
}

export const engineFormat: ErrorFormat = {
  name: 'engine',
  body(error) {
    // The error of an invalid pipeline is already complete in the format of the search engine, with the position of each mistake.
    const whole = error.details?.error as Record<string, unknown> | undefined
    return { message: error.message, error: whole ?? causeOf(typeOf(error), error.message), status: error.status }
  },
  schema: Type.Object(
    {
      message: Type.String({ description: 'Description of the problem; it names the field or object that is wrong.' }),
      error: Type.Object(
        {
          root_cause: Type.Array(Type.Object(Reason, { additionalProperties: true, description: 'A cause.' }), {
            description: 'The causes; always one cause.',
          }),
          ...Reason,
        },
        { additionalProperties: true, description: 'The same error for clients of the search engine.' },
      ),
      status: Type.Integer({ description: 'The HTTP status.' }),
    },
    { title: 'ErrorOfIngest', description: 'An error of the ingest facade.' },
  ),
}
