/** Measures the resources that a node uses. Each node can measure only itself, so other nodes request the numbers. */
import { availableParallelism, hostname, loadavg, totalmem } from 'node:os'
import type { Kit } from '../../kernel/define-service.ts'
import { defineRequest } from '../../kernel/signals.ts'

export interface NodeUsage {
  host: string
  pid: number
  runtime: string
  uptimeSeconds: number
  memory: { residentBytes: number; heapBytes: number; machineBytes: number }
  cpuSeconds: number
  cores: number
  loadAverage: number
  connections: { http: number; httpMax: number; mqtt: number; mqttMax: number }
  disks: { name: string; freeBytes: number; totalBytes: number; low: boolean }[]
}

const UsageRequested = defineRequest<Record<never, never>, NodeUsage>('platform.usage')

const answerMs = 2000

export function createUsage({
  signals,
  members,
  descriptors,
  diskSpace,
}: Pick<Kit, 'signals' | 'members' | 'descriptors' | 'diskSpace'>) {
  function usageOfThisNode(): NodeUsage {
    const { rss, heapUsed } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    const { http, mqtt } = descriptors
    return {
      host: hostname(),
      pid: process.pid,
      runtime: `Node.js ${process.version}`,
      uptimeSeconds: Math.round(process.uptime()),
      memory: { residentBytes: rss, heapBytes: heapUsed, machineBytes: totalmem() },
      cpuSeconds: (user + system) / 1_000_000,
      cores: availableParallelism(),
      loadAverage: loadavg()[0] ?? 0,
      connections: { http: http.open, httpMax: http.max, mqtt: mqtt.open, mqttMax: mqtt.max },
      disks: diskSpace.volumes(),
    }
  }
  signals.answer(UsageRequested, usageOfThisNode)
  return {
    /** Returns the usage of a node, or undefined if it does not answer within two seconds. */
    async read(nodeId: string): Promise<NodeUsage | undefined> {
      if (nodeId === members.nodeId) return usageOfThisNode()
      if (!members.isAlive(nodeId)) return undefined
      try {
        return await signals.request(nodeId, UsageRequested, {}, { timeoutMs: answerMs })
      } catch {
        // A node that does not answer is reported without usage.
        return undefined
      }
    },
  }
}
