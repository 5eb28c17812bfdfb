/** A failed request, as pages show it. */
export interface Problem {
  /** A sentence for people. */
  message: string
  /** Code of the error catalogue, or of a failure without an answer. */
  code: string
  status?: number | undefined
  /** The field of the request that is wrong, as the API names it. */
  field?: string | undefined
  /** Where a JSON schema was violated: JSON pointers within the value. */
  violations?: { path: string; message: string }[] | undefined
  /** Finds the request in the log of the platform. */
  correlationId?: string | undefined
  retryAfterSeconds?: number | undefined
  /** True if the request was a change, false or absent if it read something. */
  isOfChange?: boolean
  /** Scope that the caller would need. */
  missingScope?: string | undefined
}
