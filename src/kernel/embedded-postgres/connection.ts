/** Options for `pg`: an object, because a URL holds the path of a socket badly. */
export type PostgresConnection = { host: string; port: number; user: string; password: string; database: string }
