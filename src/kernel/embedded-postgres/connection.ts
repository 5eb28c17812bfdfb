/** Connection options for `pg`. They are not a URL, because the path of a socket would have to be escaped. */
export type PostgresConnection = { host: string; port: number; user: string; password: string; database: string }
