import { examine, type Finding } from '../assembly/doctor.ts'
import { type Config, loadConfig } from '../config.ts'
import { createLog } from '../kernel/log.ts'
import { ConfigurationError } from '../kernel/settings.ts'
import { tell } from './sentences.ts'

const signs: Record<Finding['state'], string> = { good: '✓', careful: '!', bad: '✗' }

/** What is well and what is not, with what to do; exits 1 if anything is not. */
export async function run(): Promise<number> {
  let config: Config
  try {
    config = loadConfig()
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    tell(`✗ ${error.message}\n    Correct or unset it; waypost config shows the settings`)
    return 1
  }
  tell('✓ The settings are valid')
  let failed = false
  for await (const { state, what, todo } of examine(config, await createLog({ ...config.log, level: 'silent' }))) {
    tell(`${signs[state]} ${what}${todo ? `\n    ${todo}` : ''}`)
    failed ||= state === 'bad'
  }
  return failed ? 1 : 0
}
