import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { borrowDatabase } from '../assembly/database.ts'
import { version } from '../assembly/front-pages.ts'
import { loadConfig } from '../config.ts'
import { writeBackup } from '../kernel/backup/write.ts'
import { monotonicMs, systemClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import { loadMasterKey } from '../kernel/secrets.ts'
import { amount, occasionally, secondsSince, size, tell } from './sentences.ts'

export const usage = 'usage: waypost backup <file> [--force]\n'

/** Everything in the database into one file, while the platform runs or not. */
export async function run(args: string[]): Promise<number> {
  let file: string | undefined
  let force = false
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { force: { type: 'boolean' } } })
    if (positionals.length === 1) file = positionals[0]
    force = values.force === true
  } catch (error) {
    process.stderr.write(`waypost: ${(error as Error).message}\n`)
  }
  if (!file) {
    process.stderr.write(usage)
    return 2
  }

  const config = loadConfig()
  if (!config.databaseUrl && !existsSync(join(config.dataDirectory, 'postgres'))) {
    process.stderr.write(`waypost: there is no database in ${config.dataDirectory}; WAYPOST_DATA names its directory\n`)
    return 1
  }
  const started = monotonicMs()
  const database = await borrowDatabase(config, await createLog({ ...config.log, level: 'error' }))
  try {
    let rows = 0
    const sayNow = occasionally()
    const made = await writeBackup({
      connection: database.connection,
      file,
      masterKey: loadMasterKey(config.masterKey, config.dataDirectory),
      program: version,
      now: systemClock,
      force,
      progress(table, added) {
        rows += added
        sayNow(() => `${amount(rows, 'row')} so far, up to ${table}`)
      },
    })
    tell(
      `Wrote ${file}: ${amount(made.tables, 'table')}, ${amount(made.rows, 'row')}, ${size(made.fileBytes)} ` +
        `(${size(made.bytes)} unpacked), in ${secondsSince(started)}.`,
    )
    tell(`Read back and verified. SHA-256 ${made.sha256}`)
    tell('It holds the key that opens the stored secrets: keep it as safe as the data directory (its mode is 0600).')
    return 0
  } catch (error) {
    process.stderr.write(`waypost: ${(error as Error).message}\n`)
    return 1
  } finally {
    await database.stop()
  }
}
