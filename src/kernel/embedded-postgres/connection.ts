/**
 * Options for `postgres(…)`, and for `pg` too. An object, because postgres.js cannot read a socket's path from a URL (it
 * leaves %2F undecoded and asks the DNS).
 */
export type PostgresConnection = { host: string; port: number; user: string; password: string; database: string }
