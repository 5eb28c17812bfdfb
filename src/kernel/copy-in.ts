import { type CopyContent, copyQuery, type Pending } from './db/sql.ts'

/**
 * Sends the rows of `sql.unsafe('copy … from stdin')` and resolves when the server has stored them. Other statements of the same
 * transaction wait until the copy is done.
 */
export function copyIn(query: Pending, content: () => CopyContent | Promise<CopyContent>): Promise<void> {
  const { runner, text } = copyQuery(query)
  return runner.copyIn(text, content)
}
