// Dragino LHT65: temperature and humidity, with an external temperature probe.
function decodeUplink(input) {
  var bytes = input.bytes
  var word = function (at) { return (bytes[at] << 8) | bytes[at + 1] }
  var signed = function (at) { return (word(at) << 16) >> 16 }
  var data = {
    BatV: (word(0) & 0x3fff) / 1000,
    TempC_SHT: signed(2) / 100,
    Hum_SHT: word(4) / 10,
  }
  if ((bytes[6] & 0x0f) === 1) data.TempC_DS = signed(7) / 100
  return { data: data }
}
