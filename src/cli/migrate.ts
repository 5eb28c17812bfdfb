import { migrationSources } from '../assembly/build.ts'
import { catalogue } from '../assembly/catalogue.ts'
import { connectDatabase } from '../assembly/database.ts'
import { loadConfig } from '../config.ts'
import { connect } from '../kernel/db.ts'
import { createLog } from '../kernel/log.ts'
import { migrate, readMigrations } from '../kernel/migrate.ts'

/** Upgrades the database schema to this version without opening listeners, for operators who upgrade the database as a separate step. */
export async function run(): Promise<number> {
  const config = loadConfig()
  const database = await connectDatabase(config, await createLog(config.log))
  const pool = connect(database.connection, { max: 1 })
  try {
    const applied = await migrate(pool, readMigrations(migrationSources(catalogue)))
    process.stdout.write(
      applied.length === 0
        ? 'Nothing to do: the schema is current\n'
        : `${applied.map((name) => `applied ${name}`).join('\n')}\n`,
    )
    return 0
  } finally {
    await pool.end()
    await database.stop()
  }
}
