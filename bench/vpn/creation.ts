/** Measures the creation of VPN clients over the API, compared with the bare creation of a key and a certificate by the same library. */

import { newSerialNumber } from '../../src/kernel/pki/certificate-fields.ts'
import { makeAuthority, makeCertificate } from '../../src/kernel/pki/x509.ts'
import type { Ask } from '../../test/harness/client.ts'
import { type Figure, median } from '../report.ts'

const rounds = 5
const clients = 300
const callers = 8

async function bareMs(issuer: Awaited<ReturnType<typeof makeAuthority>>): Promise<number> {
  const notBefore = new Date()
  const notAfter = new Date(notBefore.getTime() + 86_400_000)
  const started = performance.now()
  for (let n = 0; n < clients; n++)
    await makeCertificate({ serialNumber: newSerialNumber(), commonName: `bench-${n}`, notBefore, notAfter, issuer })
  return (performance.now() - started) / clients
}

async function createdMs(ask: Ask): Promise<number> {
  let left = clients
  const create = async () => {
    while (left-- > 0) {
      const { status, text } = await ask('POST /vpms/api/v1/vpnclient', { name: 'bench', type: 'device' })
      if (status !== 201) throw new Error(text)
    }
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: callers }, create))
  return (performance.now() - started) / clients
}

export async function creation(ask: Ask): Promise<Figure[]> {
  const issuer = await makeAuthority({ serialNumber: newSerialNumber(), notBefore: new Date(), commonName: 'bench' })
  await createdMs(ask)
  await bareMs(issuer)
  const bare: number[] = []
  const created: number[] = []
  for (let round = 0; round < rounds; round++) {
    bare.push(await bareMs(issuer))
    created.push(await createdMs(ask))
  }
  return [
    {
      name: 'Creating key and certificate alone, with the same library in one thread',
      value: median(bare),
      unit: 'ms',
    },
    {
      name: `Creating a client by the API, time per client with ${callers} callers in parallel`,
      value: median(created),
      unit: 'ms',
    },
    {
      name: 'Creating a client by the API, against key and certificate alone',
      value: median(created) / median(bare),
      unit: 'times',
      limit: { max: 2 },
    },
  ]
}
