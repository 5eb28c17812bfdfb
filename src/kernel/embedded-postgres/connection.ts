/** Options for `pg`. An object, because the path of a socket is awkward in a URL. */
export type PostgresConnection = { host: string; port: number; user: string; password: string; database: string }
