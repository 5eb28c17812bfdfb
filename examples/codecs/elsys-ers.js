// Elsys ERS family: a list of typed values.
const types = {
  0x01: ['temperature', 2, (value) => signed(value, 16) / 10],
  0x02: ['humidity', 1, (value) => value],
  0x04: ['light', 2, (value) => value],
  0x05: ['motion', 1, (value) => value],
  0x06: ['co2', 2, (value) => value],
  0x07: ['vdd', 2, (value) => value],
  0x0a: ['pulse1', 2, (value) => value],
  0x0d: ['digital', 1, (value) => value],
}

function signed(value, bits) {
  return value >= 2 ** (bits - 1) ? value - 2 ** bits : value
}

function decodeUplink({ bytes }) {
  const data = {}
  for (let at = 0; at < bytes.length; ) {
    const type = types[bytes[at++]]
    if (!type) return { errors: [`unknown type ${bytes[at - 1]}`] }
    const [name, size, read] = type
    let value = 0
    for (let n = 0; n < size; n++) value = value * 256 + bytes[at++]
    data[name] = read(value)
  }
  return { data }
}
