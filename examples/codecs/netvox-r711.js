// Netvox R711: temperature and humidity.
function getCfgCmd(name) {
  var commands = { ConfigReportReq: 0x01, ReadConfigReportReq: 0x02 }
  return commands[name]
}

function decodeUplink(input) {
  var bytes = input.bytes
  if (input.fPort !== 6) return { errors: ['unknown FPort'] }
  if (bytes[1] !== 0x0b) return { errors: ['the device is no R711'] }
  if (bytes[2] === 0x00) return { data: { Device: 'R711', SWver: bytes[3] / 10, HWver: bytes[4] } }
  var temperature = (((bytes[4] << 8) | bytes[5]) << 16) >> 16
  return {
    data: {
      Device: 'R711',
      Volt: (bytes[3] & 0x7f) / 10,
      LowBattery: (bytes[3] & 0x80) !== 0,
      Temp: temperature / 100,
      Humi: ((bytes[6] << 8) | bytes[7]) / 100,
    },
  }
}

function encodeDownlink(input) {
  var data = input.data
  var command = getCfgCmd(data.Cmd)
  if (command === undefined) return { errors: ['unknown command ' + data.Cmd] }
  var bytes = [command, 0x0b]
  if (data.Cmd === 'ConfigReportReq')
    bytes.push(data.MinTime >> 8, data.MinTime & 0xff, data.MaxTime >> 8, data.MaxTime & 0xff, 0, 0, 0, 0, 0)
  else for (var n = 0; n < 9; n++) bytes.push(0)
  return { fPort: 7, bytes: bytes }
}
