// Digital Matter Oyster: GPS tracker. It sends positions on port 1.
function Decoder(bytes, port) {
  if (port !== 1) return { type: 'unknown', port: port }
  var int32 = function (at) {
    return bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)
  }
  return {
    type: 'position',
    latitudeDeg: int32(0) / 1e7,
    longitudeDeg: int32(4) / 1e7,
    inTrip: (bytes[8] & 0x1) !== 0,
    fixFailed: (bytes[8] & 0x2) !== 0,
    headingDeg: (bytes[8] >> 2) * 5.625,
    speedKmph: bytes[9],
    batV: Math.round(bytes[10] * 25) / 1000,
  }
}
