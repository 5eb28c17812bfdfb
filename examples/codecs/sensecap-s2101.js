// Seeed SenseCAP S2101: air temperature and humidity. Each value has the number of its measurement in front.
function decodeUplink(input) {
  const names = { 4097: 'air_temperature', 4098: 'air_humidity', 7: 'battery' }
  const { bytes } = input
  const data = {}
  // The last two bytes are a checksum.
  for (let at = 0; at + 7 <= bytes.length - 2; at += 7) {
    const id = bytes[at + 1] | (bytes[at + 2] << 8)
    const value = bytes[at + 3] | (bytes[at + 4] << 8) | (bytes[at + 5] << 16) | (bytes[at + 6] << 24)
    if (names[id]) data[names[id]] = id === 7 ? value & 0xffff : value / 1000
  }
  return { data }
}
