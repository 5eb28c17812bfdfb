import type { Reply } from '../../../kernel/http/routes.ts'

/** For every answer that carries a secret: neither a browser nor a proxy keeps it. */
export const noStore = (reply: Reply) => reply.header('cache-control', 'no-store')
