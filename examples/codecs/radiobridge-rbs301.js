// Radio Bridge RBS301: door and window sensor.
'use strict'

const events = { 0x00: 'reset', 0x01: 'supervisory', 0x02: 'tamper', 0x03: 'door', 0xff: 'downlink_ack' }

function decodeUplink(input) {
  const [header, code, ...rest] = input.bytes
  const data = { protocol: header >> 4, counter: header & 0x0f, event: events[code] ?? 'unknown' }
  if (code === 0x03) data.open = rest[0] === 1
  if (code === 0x01) data.battery = (rest[2] >> 4) + (rest[2] & 0x0f) / 10
  return { data, warnings: [] }
}
