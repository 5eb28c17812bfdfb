// Bosch TPS110: parking lot sensor.
function decodeUplink(input) {
  switch (input.fPort) {
    case 1:
      return { data: { type: 'parking_status', occupied: (input.bytes[0] & 1) === 1 } }
    case 2:
      return { data: { type: 'heartbeat', occupied: (input.bytes[0] & 1) === 1 } }
    case 3: {
      const [major, minor, patch] = input.bytes.slice(12, 15)
      return { data: { type: 'startup', firmware: `${major}.${minor}.${patch}`, occupied: (input.bytes[16] & 1) === 1 } }
    }
    default:
      return { errors: [`port ${input.fPort} is unknown`] }
  }
}
