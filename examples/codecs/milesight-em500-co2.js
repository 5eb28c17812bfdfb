// Milesight EM500-CO2: carbon dioxide, temperature, humidity and pressure.
const readers = {
  '01 75': (bytes) => ({ battery: bytes.shift() }),
  '03 67': (bytes) => ({ temperature: Int16Array.of(word(bytes))[0] / 10 }),
  '04 68': (bytes) => ({ humidity: bytes.shift() / 2 }),
  '05 7d': (bytes) => ({ co2: word(bytes) }),
  '06 73': (bytes) => ({ pressure: word(bytes) / 10 }),
}

const word = (bytes) => bytes.shift() | (bytes.shift() << 8)
const hex = (byte) => byte.toString(16).padStart(2, '0')

function decodeUplink(input) {
  const bytes = [...input.bytes]
  const data = {}
  while (bytes.length > 0) {
    const key = `${hex(bytes.shift())} ${hex(bytes.shift())}`
    if (!readers[key]) return { data, warnings: [`channel ${key} is unknown`] }
    Object.assign(data, readers[key](bytes))
  }
  return { data }
}
