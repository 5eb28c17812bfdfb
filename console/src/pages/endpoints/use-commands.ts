/**
 * Commands of one endpoint. The API lists commands only by type, so the types are first read from the commands of the application and from
 * the traffic log.
 */
import { useMay } from '../../api/me.ts'
import { useList } from '../../api/query.ts'
import type { TabProps } from './tab.ts'

const typesMax = 100
const readCommands = 200
/** Interval at which the page looks for commands of new types, which other users, rules and devices may send. */
const newTypesMs = 5_000

export function useCommands({ endpoint: { endpointId, appName }, resources }: TabProps, more: string[] = []) {
  const may = useMay()
  const mayList = may('application:endpoint-command:read', ...resources)
  const ofApplication = useList(
    'commands.ofApplication.list',
    { applicationName: appName, size: readCommands },
    { enabled: mayList, refreshMs: newTypesMs },
  )
  const traffic = useList(
    'traffic.list',
    { endpointIds: endpointId, extension: 'cex', size: readCommands },
    { refreshMs: newTypesMs },
  )
  const inTraffic = traffic.items.flatMap(
    ({ resourcePath }) => /^\/?(?:command|result)\/([\w-]+)/.exec(resourcePath)?.[1] ?? [],
  )
  const types = [...new Set([...more, ...ofApplication.items.map(({ commandType }) => commandType), ...inTraffic])]
    .filter((type) => /^[\w-]{1,255}$/.test(type))
    .sort()
    .slice(0, typesMax)
  const isReady = !traffic.isLoading && !(mayList && ofApplication.isLoading)
  const commands = useList(
    'commands.list',
    { endpointId, commandTypes: types },
    { enabled: isReady && types.length > 0, refreshMs: 3_000 },
  )
  const items = commands.items
    .flatMap((ofEndpoint) => ofEndpoint.commands)
    .toSorted((a, b) => b.commandId - a.commandId)
  return {
    ...{ types, items, isLoading: !isReady || commands.isLoading, problem: commands.problem },
    // Without a type, the platform would refuse the request.
    reload: () => {
      if (types.length > 0) commands.reload()
    },
  }
}
