import { copyFileSync, existsSync, renameSync, writeFileSync } from 'node:fs'
import { type BuiltServices, sealedColumns } from '../assembly/build.ts'
import { type Config, loadConfig } from '../config.ts'
import { beginRotation, enterPhase, finishRotation, phaseOf, sealAgain } from '../kernel/key-rotation.ts'
import {
  createSecrets,
  findMasterKey,
  masterKeyFile,
  masterKeyOf,
  namedKey,
  newKey,
  nextMasterKeyFile,
  oldMasterKeyFile,
  readDataKeys,
  readMasterKey,
  sealedPrefix,
} from '../kernel/secrets.ts'
import { secretsSettings } from '../kernel/secrets-settings.ts'
import { print } from './output.ts'
import { UsageError, withServices } from './with-services.ts'

export const usage = `usage: waypost secrets <action>

  status        say whether a rotation of the keys is under way
  rotate        change to a new master key and a new data key and seal all secrets again, also while the platform runs;
                run it again if it was interrupted
  finish        make the old master key useless, once all nodes have the new key
`

export async function run([action, ...rest]: string[]): Promise<number> {
  if (!action || rest.length > 0 || !['status', 'rotate', 'finish'].includes(action)) {
    process.stderr.write(usage)
    return 2
  }
  const config = loadConfig()
  return await withServices(usage, async (services) => {
    if (action === 'status') await showStatus(services)
    else if (action === 'rotate') await rotate(config, services)
    else await finish(config, services)
  })
}

async function showStatus({ kit }: BuiltServices) {
  const phase = await phaseOf(kit.db.sql)
  if (phase === undefined) print('No rotation is under way.')
  else if (phase === 'sealed')
    print(
      'All secrets are sealed again. Give every node the new master key, restart it, then run: waypost secrets finish',
    )
  else print('A rotation is under way. If no process runs it, continue it with: waypost secrets rotate')
}

/** Returns the new master key. It is created in a file of the data directory if the old key is in such a file. */
function nextMasterKeyOf({ masterKey, dataDirectory, read }: Config): Buffer {
  const { newMasterKey } = read(secretsSettings)
  if (masterKey !== undefined) {
    if (newMasterKey === undefined)
      throw new UsageError(
        'WAYPOST_MASTER_KEY is set: give the new key as WAYPOST_NEW_MASTER_KEY or WAYPOST_NEW_MASTER_KEY_FILE',
      )
    return masterKeyOf(newMasterKey, 'WAYPOST_NEW_MASTER_KEY')
  }
  if (newMasterKey !== undefined)
    throw new UsageError(
      'WAYPOST_NEW_MASTER_KEY is for installations with WAYPOST_MASTER_KEY; without that variable, a key file is generated',
    )
  const file = nextMasterKeyFile(dataDirectory)
  if (!existsSync(file)) writeFileSync(file, newKey().toString('base64url'), { mode: 0o600, flag: 'wx', flush: true })
  return readMasterKey(file)
}

async function rotate(config: Config, services: BuiltServices) {
  const { db, bus } = services.kit
  const masterKey = findMasterKey(config.masterKey, config.dataDirectory)!
  const before = await readDataKeys(db.sql, masterKey)
  // An earlier run was interrupted after it had replaced the key file.
  if (before?.rotation?.phase === 'sealed' && before.rotation.opensWith === 'new') return await finish(config, services)
  const next = nextMasterKeyOf(config)
  if (next.equals(masterKey)) throw new UsageError('the new master key is the present master key')
  if (!(await beginRotation(db, masterKey, next)))
    throw new UsageError('a rotation to another new master key is under way; continue it with that key')
  const report = (missing: number) => print(`Waiting for ${missing} nodes to load the new key…`)
  if ((await phaseOf(db.sql)) === 'adding') {
    print('Every node loads the new key.')
    await enterPhase({ db, bus }, 'adding', report)
  }
  if ((await phaseOf(db.sql)) !== 'sealed') {
    print('Every node seals with the new key.')
    await enterPhase({ db, bus }, 'sealing', report)
    await sealEverything(services, masterKey)
    await db.sql`update kernel.key_rotation set phase = 'sealed'`
  }
  await installKey(config, services)
}

/** Seals all secrets with the new key, in passes until one finds nothing to seal: a pass can miss a row that is written meanwhile. */
async function sealEverything({ kit, services }: BuiltServices, masterKey: Buffer) {
  const keys = (await readDataKeys(kit.db.sql, masterKey))!
  const secrets = createSecrets(keys)
  const prefix = sealedPrefix(namedKey(keys.current))
  let total = 0
  const report = (added: number) => {
    total += added
    if (added > 0) print(`${total} values are sealed again so far.`)
  }
  for (let changed = 1; changed > 0; ) {
    changed = 0
    for (const column of sealedColumns(services))
      changed += await sealAgain(kit.db, column, prefix, (sealed) => secrets.seal(secrets.open(sealed)), report)
  }
}

/** Replaces the key file. If the key is a setting, or if there are several nodes, the operator must do the rest. */
async function installKey(config: Config, services: BuiltServices) {
  const { dataDirectory } = config
  if (config.masterKey !== undefined) {
    print('All secrets are sealed again. Set WAYPOST_MASTER_KEY to the new key on every node, restart them one by one,')
    print('then run: waypost secrets finish. Keep the old key for backups that were made with it.')
    return
  }
  copyFileSync(masterKeyFile(dataDirectory), oldMasterKeyFile(dataDirectory))
  renameSync(nextMasterKeyFile(dataDirectory), masterKeyFile(dataDirectory))
  const nodes = await services.kit.db.sql`
    select from kernel.nodes where not gone and seen_at > now() - interval '5 seconds'`
  if (nodes.length <= 1) return await finish(config, services)
  print(
    `All secrets are sealed again. Copy ${masterKeyFile(dataDirectory)} to the data directories of the other nodes,`,
  )
  print('restart them one by one, then run: waypost secrets finish')
}

async function finish(config: Config, { kit }: BuiltServices) {
  const { dataDirectory } = config
  const phase = await phaseOf(kit.db.sql)
  if (phase === undefined) throw new UsageError('no rotation is under way')
  if (phase !== 'sealed') throw new UsageError('the rotation is not done; continue it with: waypost secrets rotate')
  const masterKey = findMasterKey(config.masterKey, dataDirectory)!
  if (!(await finishRotation(kit.db, masterKey)))
    throw new UsageError('this command runs with the old master key; set WAYPOST_MASTER_KEY to the new key first')
  print('The rotation is done. The old master key opens nothing in this database any more.')
  const old = oldMasterKeyFile(dataDirectory)
  if (config.masterKey === undefined && existsSync(old))
    print(`Backups that were made until now need the old key for a restore (--key-file): ${old}`)
  print('Make a new backup now.')
}
