/** Measures the creation of VPN clients, and the throughput of a tunnel. */
import { bearer, client } from '../test/harness/client.ts'
import { runCleanups } from '../test/harness/database.ts'
import { serverHost } from '../test/harness/vpn-network.ts'
import { serviceToken, startPlatform, withTemporaryDirectory } from './platform.ts'
import type { Figure } from './report.ts'
import { creation } from './vpn/creation.ts'
import { throughput } from './vpn/throughput.ts'

export const vpn = (): Promise<Figure[]> =>
  withTemporaryDirectory((directory) =>
    withTemporaryDirectory(async (folder) => {
      const platform = await startPlatform(directory, { WAYPOST_VPN_HOST: serverHost })
      const ask = client(platform.baseUrl, bearer(await serviceToken(platform, platform.bootstrap.default)))
      try {
        return [...(await creation(ask)), ...(await throughput(directory, folder, ask))]
      } finally {
        await runCleanups()
        await platform.stop()
      }
    }),
  )
