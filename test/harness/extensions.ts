/** The gateway's own extensions over a real database, with the register and applications beside them and no transport. */
import { createExtensions, type GatewayExtensions } from '../../src/gateway/extensions/index.ts'
import { createObservation, type Observation } from '../../src/gateway/extensions/observation.ts'
import { contract } from '../../src/kernel/contract.ts'
import { defineService } from '../../src/kernel/define-service.ts'
import { Applications } from '../../src/services/applications/contract.ts'
import { Register } from '../../src/services/register/contract.ts'
import { openRegister } from './register.ts'

const Ground = contract<GatewayExtensions>('gateway')

const ground = defineService({
  name: 'gateway',
  provides: Ground,
  needs: { register: Register, applications: Applications },
  migrations: new URL('../../src/gateway/migrations/', import.meta.url),
  build: (kit, given) => ({ api: createExtensions({ kit, ...given }) }),
})

export async function openExtensions() {
  const opened = await openRegister({ services: [ground] })
  const gateway = opened.house.ask(Ground)
  return {
    ...opened,
    gateway,
    extension: (name: string) => gateway.extensions.find((extension) => extension.name === name)!,
  }
}

/** As the gateway's own: for extensions that a test builds itself. */
export const observationOf = ({ kit }: Awaited<ReturnType<typeof openRegister>>['house']): Observation =>
  createObservation({ ...kit, jobs: { ...kit.jobs, handle: () => {} }, bus: { ...kit.bus, react: () => {} } })
