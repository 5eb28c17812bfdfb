// Dragino LDS02: door sensor. The function `Decoder` is the older form of a codec, as in The Things Network v2.
function Decoder(bytes, port) {
  var value = ((bytes[0] << 8) | bytes[1]) & 0x3fff
  var decoded = { BAT_V: value / 1000, MOD: bytes[2], DOOR_OPEN_STATUS: bytes[0] & 0x80 ? 1 : 0 }
  if (bytes[2] === 1) {
    decoded.DOOR_OPEN_TIMES = (bytes[3] << 16) | (bytes[4] << 8) | bytes[5]
    decoded.LAST_DOOR_OPEN_DURATION = (bytes[6] << 16) | (bytes[7] << 8) | bytes[8]
    decoded.ALARM = bytes[9] & 0x01
  }
  return decoded
}
