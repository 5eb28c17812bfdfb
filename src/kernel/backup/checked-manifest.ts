/** Checks the shape of a manifest, because its texts become SQL values, file names and output on the operator's terminal. */
import { type Static, Type } from 'typebox'
import { Check } from 'typebox/value'
import type { Manifest } from './manifest.ts'

const Text = (pattern: string) => Type.String({ pattern })
const OrNull = <T extends Parameters<typeof Type.Union>[0][number]>(shape: T) => Type.Union([shape, Type.Null()])
/** PostgreSQL truncates identifiers to 63 bytes, so two longer identifiers could collide. */
const Identifier = Type.String({ minLength: 1, maxLength: 63, pattern: '^[^\\u0000]+$' })

const Shape = Type.Object({
  createdAt: Text('^[0-9T:.Z+-]{10,40}$'),
  program: Text('^[A-Za-z0-9.+-]{1,64}$'),
  postgres: Text('^[ -~]{1,200}$'),
  migrations: Type.Array(
    Type.Object({
      module: Text('^[a-z][a-z0-9-]{0,62}$'),
      name: Text('^[0-9]{4}_[a-z0-9_]{1,200}\\.sql$'),
      checksum: Text('^[0-9a-f]{64}$'),
    }),
  ),
  jobsVersion: OrNull(Type.Integer({ minimum: 0 })),
  dataKey: OrNull(Text('^[A-Za-z0-9_-]{43}$')),
  tables: Type.Array(Type.Object({ schema: Identifier, name: Identifier, columns: Type.Array(Identifier) })),
  partitions: Type.Array(
    Type.Object({
      schema: Identifier,
      name: Identifier,
      parentSchema: Identifier,
      parent: Identifier,
      bound: Type.String(),
      key: OrNull(Type.String()),
    }),
  ),
  sequences: Type.Array(
    Type.Object({ schema: Identifier, name: Identifier, value: Text('^-?[0-9]{1,19}$'), called: Type.Boolean() }),
  ),
  contents: Type.Optional(Type.Boolean()),
  keyId: Type.Optional(Text('^[0-9a-f]{16}$')),
})

export const isManifest = (value: unknown): value is Manifest & Static<typeof Shape> => Check(Shape, value)
