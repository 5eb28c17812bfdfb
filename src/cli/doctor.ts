import { examine, type Finding } from '../assembly/doctor.ts'
import { type Config, loadConfig } from '../config.ts'
import { createLog } from '../kernel/log.ts'
import { ConfigurationError } from '../kernel/settings.ts'
import { print } from './output.ts'

const signs: Record<Finding['state'], string> = { ok: '✓', warning: '!', error: '✗' }

/** Prints the results of all checks, with advice. Exits with 1 if there is an error. */
export async function run(): Promise<number> {
  let config: Config
  try {
    config = loadConfig()
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    print(`✗ ${error.message}\n    Correct or unset the setting; waypost config shows the settings`)
    return 1
  }
  print('✓ The settings are valid')
  let failed = false
  for await (const { state, text, todo } of examine(config, await createLog({ ...config.log, level: 'silent' }))) {
    print(`${signs[state]} ${text}${todo ? `\n    ${todo}` : ''}`)
    failed ||= state === 'error'
  }
  return failed ? 1 : 0
}
