// Tektelic Smart Room Sensor: port 10 has readings with two-byte headers.
function decodeUplink(input) {
  var data = {}
  var bytes = input.bytes.slice()
  if (input.fPort !== 10) return { data: data, warnings: ['port ' + input.fPort + ' has no readings'] }
  function int16() {
    var value = (bytes.shift() << 8) | bytes.shift()
    return (value << 16) >> 16
  }
  while (bytes.length > 2) {
    switch ((bytes.shift() << 8) | bytes.shift()) {
      case 0x00ff:
        data.battery_voltage = int16() / 100
        break
      case 0x0367:
        data.ambient_temperature = int16() / 10
        break
      case 0x0468:
        data.relative_humidity = bytes.shift() / 2
        break
      case 0x0100:
        data.reed_open = bytes.shift() === 0xff
        break
      default:
        return { errors: ['unknown header'] }
    }
  }
  return { data: data }
}
