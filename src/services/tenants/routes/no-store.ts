import type { Reply } from '../../../kernel/http/routes.ts'

/** Forbids browsers and proxies to cache a response. Used for responses that contain a secret. */
export const noStore = (reply: Reply) => reply.header('cache-control', 'no-store')
