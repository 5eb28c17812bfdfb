/** Builds the services over the platform's database for a command, without opening listeners. The platform may be running. */
import type { BuiltServices } from '../assembly/build.ts'
import { loadConfig } from '../config.ts'
import { PlatformError } from '../kernel/errors.ts'
import { createLog } from '../kernel/log.ts'

/** The error for a mistake in the arguments of a command. Its message is printed together with the usage. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export async function withServices(
  usage: string,
  work: (platformServices: BuiltServices) => Promise<void>,
): Promise<number> {
  const config = loadConfig()
  const log = await createLog({ ...config.log, level: 'error' })
  // The services are loaded here and not at the top, so that a mistake in the arguments is reported quickly.
  const [{ buildServices }, { catalogue }, { connectDatabase }] = await Promise.all([
    import('../assembly/build.ts'),
    import('../assembly/catalogue.ts'),
    import('../assembly/database.ts'),
  ])
  const database = await connectDatabase(config, log)
  try {
    const baseUrl = config.baseUrl ?? `http://${config.host}:${config.port}`
    const platformServices = await buildServices({
      config,
      connection: database.connection,
      log,
      services: catalogue,
      baseUrl: () => baseUrl,
    })
    try {
      await work(platformServices)
      return 0
    } finally {
      for (const service of platformServices.built.values()) await service.stop?.()
      await platformServices.close()
    }
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof PlatformError)) throw error
    process.stderr.write(`waypost: ${error.message}\n${error instanceof UsageError ? `\n${usage}` : ''}`)
    return error instanceof UsageError ? 2 : 1
  } finally {
    await database.stop()
  }
}
