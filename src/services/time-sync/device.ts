/** Extension `tsx`: returns the current time in a time zone. */
import type { Clock } from '../../kernel/clock.ts'
import type { Extension } from '../../kernel/device.ts'
import { optional } from '../../kernel/device-payloads.ts'
import { jsonPayload, resources } from '../../kernel/device-resources.ts'
import { invalidField } from '../../kernel/errors.ts'
import { Type } from '../../kernel/schema.ts'

const request = jsonPayload(Type.Object({ timezone: optional.text(64) }), { empty: () => ({}) })

export const timeSynchronisation = (now: Clock): Extension => ({
  name: 'tsx',
  unrecorded: true,
  receive: resources({
    '': async ({ payload }) => {
      const timezone = request(payload).timezone ?? 'UTC'
      const zone = formatterFor(timezone)
      const time = now()
      return { payload: { timestamp: time.getTime(), time: formatInZone(time, zone), timezone }, always: true }
    },
  }),
})

/** Cached formatters. Creating a formatter is far more expensive than using it. */
const zones = new Map<string, Intl.DateTimeFormat>()
const zonesMax = 1000

function formatterFor(timezone: string): Intl.DateTimeFormat {
  const cached = zones.get(timezone)
  if (cached) return cached
  const formatter = createFormatter(timezone)
  if (zones.size >= zonesMax) zones.clear()
  zones.set(timezone, formatter)
  return formatter
}

function createFormatter(timeZone: string) {
  try {
    return new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
  } catch {
    throw invalidField('timezone', 'expected a time zone such as Europe/Kyiv')
  }
}

/** Returns the time as ISO 8601 with the offset of the zone at that time. */
function formatInZone(at: Date, zone: Intl.DateTimeFormat): string {
  const name = zone.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  // The name is `GMT-05:00`, or `GMT` if there is no offset.
  const [, sign = '+', hours = '00', minutes = '00'] = name.match(/^GMT([+-])(\d\d):(\d\d)/) ?? []
  const offsetMinutes = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
  const local = new Date(at.getTime() + offsetMinutes * 60_000).toISOString()
  return `${local.slice(0, -1)}${sign}${hours}:${minutes}`
}
