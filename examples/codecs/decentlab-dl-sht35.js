// Decentlab DL-SHT35: air temperature and humidity. The payload has flags for the sensors that are present, then their values as 16-bit words.
const sensors = [
  { length: 2, values: { air_temperature: (x) => (175 * x[0]) / 65535 - 45, air_humidity: (x) => (100 * x[1]) / 65535 } },
  { length: 1, values: { battery_voltage: (x) => x[0] / 1000 } },
]

function decodeUplink({ bytes }) {
  const word = (at) => (bytes[at] << 8) | bytes[at + 1]
  if (bytes[0] !== 2) return { errors: [`protocol version ${bytes[0]} is not supported`] }
  const data = { protocol_version: bytes[0], device_id: word(1) }
  let [flags, at] = [word(3), 5]
  for (const { length, values } of sensors) {
    if (flags & 1) {
      const x = Array.from({ length }, (_, n) => word(at + 2 * n))
      for (const [name, read] of Object.entries(values)) data[name] = Math.round(read(x) * 1000) / 1000
      at += 2 * length
    }
    flags >>= 1
  }
  return { data }
}
