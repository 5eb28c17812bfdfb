// Cayenne Low Power Payload: a format that many devices use.
var lppTypes = {
  0: { name: 'digital_in', size: 1, divisor: 1 },
  1: { name: 'digital_out', size: 1, divisor: 1 },
  2: { name: 'analog_in', size: 2, divisor: 100, signed: true },
  101: { name: 'luminosity', size: 2, divisor: 1 },
  102: { name: 'presence', size: 1, divisor: 1 },
  103: { name: 'temperature', size: 2, divisor: 10, signed: true },
  104: { name: 'relative_humidity', size: 1, divisor: 2 },
  113: { name: 'accelerometer', size: 2, divisor: 1000, signed: true, parts: ['x', 'y', 'z'] },
  115: { name: 'barometric_pressure', size: 2, divisor: 10 },
  136: { name: 'gps', size: 3, divisor: 10000, signed: true, parts: ['latitude', 'longitude', 'altitude'] },
}

function lppNumber(bytes, at, type) {
  var value = 0
  for (var n = 0; n < type.size; n++) value = value * 256 + bytes[at + n]
  var limit = Math.pow(2, type.size * 8 - 1)
  return type.signed && value >= limit ? value - 2 * limit : value
}

function decodeUplink(input) {
  var bytes = input.bytes
  var data = {}
  for (var at = 0; at + 1 < bytes.length; ) {
    var channel = bytes[at]
    var type = lppTypes[bytes[at + 1]]
    if (!type) return { errors: ['unknown type ' + bytes[at + 1]] }
    at += 2
    var key = type.name + '_' + channel
    if (!type.parts) {
      data[key] = lppNumber(bytes, at, type) / type.divisor
      at += type.size
    } else {
      data[key] = {}
      for (var part = 0; part < type.parts.length; part++, at += type.size) {
        var divisor = type.parts[part] === 'altitude' ? 100 : type.divisor
        data[key][type.parts[part]] = lppNumber(bytes, at, type) / divisor
      }
    }
  }
  return { data: data }
}

if (typeof module !== 'undefined') module.exports = { decodeUplink: decodeUplink }
