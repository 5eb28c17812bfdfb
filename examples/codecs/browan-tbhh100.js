// Browan Tabs TBHH100: healthy home sensor.
function decodeUplink(input) {
  if (input.fPort !== 103) return { errors: ['unknown FPort'] }
  const [, battery, board, humidity, co2Low, co2High, vocLow, vocHigh] = input.bytes
  return {
    data: {
      battery: (25 + (battery & 0x0f)) / 10,
      temperature: (board & 0x7f) - 32,
      humidity: humidity & 0x7f,
      eco2: co2Low | (co2High << 8),
      voc: vocLow | (vocHigh << 8),
    },
  }
}
