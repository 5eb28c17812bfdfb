import { type CopyContent, copyQuery, type Pending } from './db/sql.ts'

/**
 * Sends the rows of `sql.unsafe('copy … from stdin')` and resolves when the server has stored them. In a transaction other
 * statements wait until it is done.
 */
export function copyIn(query: Pending, content: () => CopyContent | Promise<CopyContent>): Promise<void> {
  const { runner, text } = copyQuery(query)
  return runner.copyIn(text, content)
}
