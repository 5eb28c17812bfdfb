/** Assembles the service: the functions that routes call, and the answers to devices. */
import type { Gateway } from '../../gateway/contract.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { DeviceConfigurations } from '../../kernel/device-configuration.ts'
import type { Applications } from '../applications/contract.ts'
import type { BinaryData } from '../binary-data/contract.ts'
import type { Register } from '../register/contract.ts'
import { createBackground } from './service/background.ts'
import { createDeletionRules, type DeletionRules } from './service/deletions.ts'
import type { Deps } from './service/deps.ts'
import { createDeviceRules } from './service/devices.ts'
import { createFileRules, type FileRules } from './service/files.ts'
import { createMemberships, type Memberships } from './service/memberships.ts'
import { createSoftwareMetrics } from './service/metrics.ts'
import { createPlans } from './service/plans.ts'
import { createPushes, type Pushes } from './service/pushes.ts'
import { createRetryRules, type RetryRules } from './service/retries.ts'
import { createRolloutDates } from './service/rollout-dates.ts'
import { createRolloutRules, type RolloutRules } from './service/rollouts.ts'
import { createVersionRules, type VersionRules } from './service/versions.ts'
import type { SoftwareSettings } from './settings.ts'

export interface SoftwareService {
  versions: VersionRules
  files: FileRules
  rollouts: RolloutRules
  retries: RetryRules
  memberships: Memberships
  pushes: Pushes
  deletions: DeletionRules
  devices: DeviceConfigurations
  start(): Promise<void>
  stop(): Promise<void>
}

export function createSoftware(
  kit: Kit<SoftwareSettings>,
  services: { applications: Applications; register: Register; gateway: Gateway; binaryData: BinaryData },
): SoftwareService {
  const { applications, register, gateway, binaryData } = services
  const plans = createPlans(kit)
  const memberships = createMemberships(kit, register)
  const deps: Deps = { kit, applications, register, gateway, contents: binaryData.contents, plans, memberships }
  const metrics = createSoftwareMetrics(kit)
  const background = createBackground(kit)
  const pushes = createPushes({ ...deps, background, metrics })
  const dates = createRolloutDates(kit, pushes.toApplication)
  return {
    versions: createVersionRules(deps),
    files: createFileRules(deps),
    rollouts: createRolloutRules(deps),
    retries: createRetryRules({ ...deps, pushes }),
    memberships,
    pushes,
    deletions: createDeletionRules(deps),
    devices: createDeviceRules({ ...deps, pushes, metrics }),
    start: dates.start,
    async stop() {
      await dates.stop()
      await background.stop()
    },
  }
}
