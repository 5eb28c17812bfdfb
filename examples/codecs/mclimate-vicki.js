// MClimate Vicki: radiator thermostat, with downlinks.
function decodeUplink(input) {
  const { bytes } = input
  if (bytes[0] !== 0x01 && bytes[0] !== 0x81) return { errors: [`command ${bytes[0]} is unknown`] }
  const sensor = bytes[0] === 0x81 ? (bytes[2] - 28.33333) / 5.66666 : (bytes[2] * 165) / 256 - 40
  return {
    data: {
      reason: bytes[0],
      targetTemperature: bytes[1],
      sensorTemperature: Number(sensor.toFixed(2)),
      relativeHumidity: Number(((bytes[3] * 100) / 256).toFixed(2)),
      batteryVoltage: Number((2 + (bytes[7] >> 4) * 0.1).toFixed(2)),
      openWindow: (bytes[7] & 0x08) !== 0,
      childLock: (bytes[8] & 0x80) !== 0,
    },
  }
}

function encodeDownlink({ data }) {
  const bytes = []
  if ('setKeepAlive' in data) bytes.push(0x02, data.setKeepAlive)
  if ('setChildLock' in data) bytes.push(0x07, Number(data.setChildLock))
  if ('setTargetTemperature' in data) bytes.push(0x0e, data.setTargetTemperature)
  return bytes.length === 0 ? { errors: ['nothing to set'] } : { bytes, fPort: 1 }
}
