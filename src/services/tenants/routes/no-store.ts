import type { Reply } from '../../../kernel/http/routes.ts'

/** Forbids browsers and proxies to cache a response that contains a secret. */
export const noStore = (reply: Reply) => reply.header('cache-control', 'no-store')
