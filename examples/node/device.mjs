// A device in Node.js, with the package mqtt (npm install mqtt).
//   node examples/node/device.mjs <application version> <endpoint token> [mqtt://127.0.0.1:1883]
// Sends a sample every five seconds and answers commands until Ctrl-C.
import mqtt from 'mqtt'

const [version, token, url = 'mqtt://127.0.0.1:1883'] = process.argv.slice(2)
const topic = (extension, path) => `kp1/${version}/${extension}/${token}/${path}`
const client = mqtt.connect(url)
let requestId = 0

function sendSample() {
  const sample = { temperature: Number((20 + Math.random() * 5).toFixed(2)), battery: 87 }
  client.publish(topic('dcx', `json/${++requestId}`), JSON.stringify(sample), { qos: 1 })
}

client.on('connect', () => {
  console.log('connected')
  sendSample()
})
setInterval(() => client.connected && sendSample(), 5000)

// No subscription is needed: the platform pushes responses and commands to this connection.
client.on('message', (name, payload) => {
  const [, , extension, , ...path] = name.split('/')
  if (path.at(-1) === 'error') console.log(`rejected: ${payload}`)
  else if (extension === 'dcx') console.log(`sample ${path.at(-2)} is stored`)
  else if (extension === 'cex' && path[0] === 'command') answer(path[1], JSON.parse(payload))
})

function answer(type, commands) {
  const results = commands.map(({ id, payload }) => {
    console.log(`command ${id}: ${type} ${JSON.stringify(payload)}`)
    return { id, statusCode: 200, payload: 'done by Node.js' }
  })
  client.publish(topic('cex', `result/${type}`), JSON.stringify(results), { qos: 1 })
}

client.on('error', (error) => console.log(error.message))
process.on('SIGINT', () => client.end(false, () => process.exit()))
