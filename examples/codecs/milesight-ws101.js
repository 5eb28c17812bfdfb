// Milesight WS101: button. The function `Decode` is the form of a codec for ChirpStack v3.
function Decode(fPort, bytes, variables) {
  var decoded = {}
  for (var i = 0; i < bytes.length; ) {
    var channel = bytes[i++]
    var type = bytes[i++]
    if (channel === 0x01 && type === 0x75) decoded.battery = bytes[i++]
    else if (channel === 0xff && type === 0x2e) {
      decoded.press = { 1: 'short', 2: 'long', 3: 'double' }[bytes[i++]] || 'unknown'
    } else break
  }
  return decoded
}

function Encode(fPort, obj, variables) {
  return [0xff, 0x03, obj.report_interval & 0xff, obj.report_interval >> 8]
}
