// Dragino LT-22222-L: controller with relays. This codec only encodes downlinks.
function encodeDownlink({ data }) {
  if (data.command === 'reboot') return { bytes: [0x04, 0xff], fPort: 2 }
  if (data.relay1 === undefined || data.relay2 === undefined) return { errors: ['expected relay1 and relay2'] }
  return { bytes: [0x03, data.relay1 ? 1 : 0, data.relay2 ? 1 : 0], fPort: 2, warnings: [] }
}
