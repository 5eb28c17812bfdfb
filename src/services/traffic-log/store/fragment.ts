import type { PendingQuery, Row } from 'postgres'

/** A part of a statement, never to be awaited. */
export type Fragment = PendingQuery<Row[]>
