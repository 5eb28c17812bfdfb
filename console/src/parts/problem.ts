/** A failed request, as pages show it. */
export interface Problem {
  /** A sentence for people. */
  message: string
  /** Error code of the platform, or of a failure without a response. */
  code: string
  status?: number | undefined
  /** The invalid field of the request, with its name in the API. */
  field?: string | undefined
  /** Violations of a JSON schema. A path is a JSON pointer within the value. */
  violations?: { path: string; message: string }[] | undefined
  /** Correlation id, with which the request can be found in the log of the platform. */
  correlationId?: string | undefined
  retryAfterSeconds?: number | undefined
  /** True if the request was a change; false or absent if it was a read. */
  isOfChange?: boolean
  /** Scope that the caller would need. */
  missingScope?: string | undefined
}
