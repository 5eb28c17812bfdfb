// Dragino LSE01: soil moisture, temperature and conductivity.
function decodeUplink(input) {
  const word = (at) => (input.bytes[at] << 8) | input.bytes[at + 1]
  const signed = (at) => (word(at) << 16) >> 16
  return {
    data: {
      BatV: (word(0) & 0x3fff) / 1000,
      temp_DS18B20: signed(2) / 10,
      water_SOIL: word(4) / 100,
      temp_SOIL: signed(6) / 100,
      conduct_SOIL: word(8),
    },
  }
}

function encodeDownlink(input) {
  if (!Number.isInteger(input.data.interval) || input.data.interval < 1) return { errors: ['interval: expected seconds'] }
  const { interval } = input.data
  return { fPort: 2, bytes: [0x01, (interval >> 16) & 0xff, (interval >> 8) & 0xff, interval & 0xff] }
}
