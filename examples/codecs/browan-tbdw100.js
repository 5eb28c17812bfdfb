// Browan Tabs TBDW100: door and window sensor. The codec exports its function, as codecs for Node.js do.
module.exports.decodeUplink = function (input) {
  const bytes = input.bytes
  if (input.fPort !== 100) return { errors: ['unknown FPort'] }
  return {
    data: {
      open: (bytes[0] & 1) === 1,
      battery: (25 + (bytes[1] & 0x0f)) / 10,
      temperature: (bytes[2] & 0x7f) - 32,
      minutes: bytes[3] | (bytes[4] << 8),
      count: bytes[5] | (bytes[6] << 8) | (bytes[7] << 16),
    },
  }
}
