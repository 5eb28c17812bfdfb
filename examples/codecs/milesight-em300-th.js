// Milesight EM300-TH: temperature and humidity. The payload is a list of channels, types and values. The file also has the functions that
// other network servers call.
function decodeUplink(input) {
  var decoded = milesight(input.bytes)
  return { data: decoded }
}

function Decode(fPort, bytes) {
  return milesight(bytes)
}

function Decoder(bytes, port) {
  return milesight(bytes)
}

function milesight(bytes) {
  var decoded = {}
  for (var i = 0; i < bytes.length; ) {
    var channel = bytes[i++]
    var type = bytes[i++]
    if (channel === 0x01 && type === 0x75) decoded.battery = bytes[i++]
    else if (channel === 0x03 && type === 0x67) {
      decoded.temperature = (((bytes[i + 1] << 8) | bytes[i]) << 16) >> 16
      decoded.temperature /= 10
      i += 2
    } else if (channel === 0x04 && type === 0x68) decoded.humidity = bytes[i++] / 2
    else break
  }
  return decoded
}

function encodeDownlink(input) {
  if (input.data.reboot === 'yes' || input.data.reboot === 1) return { bytes: [0xff, 0x10, 0xff], fPort: 85 }
  var seconds = input.data.report_interval
  if (typeof seconds !== 'number') throw new Error('report_interval must be a number')
  return { bytes: [0xff, 0x03, seconds & 0xff, (seconds >> 8) & 0xff], fPort: 85 }
}
