/** Worker thread of the bench: evaluates scripts with quickjs-wasi alone, in a new context each time, without any code of the platform. */
import { readFileSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { QuickJS } from 'quickjs-wasi'

const vm = await QuickJS.create({
  wasm: readFileSync(new URL(import.meta.resolve('quickjs-wasi/quickjs.wasm'))),
  timezoneOffset: 0,
  memoryLimit: 64 * 1024 * 1024,
  interruptHandler: () => false,
})
const run = vm.evalCode(
  '(() => { const { parse, stringify } = JSON; return (input, script) => stringify(script(parse(input))) })()',
)
const self = vm.undefined
// The library can restore a snapshot only into a new instance, which takes milliseconds. It is faster to write the saved memory back.
const { memory, __stack_pointer } = (
  vm as unknown as { exports: { memory: WebAssembly.Memory; __stack_pointer: WebAssembly.Global } }
).exports
const base = __stack_pointer.value
const image = new Uint8Array(memory.buffer).slice(base)

function evaluate(input: string, script: string): string {
  new Uint8Array(memory.buffer).set(image, base)
  __stack_pointer.value = base
  const compiled = vm.evalCode(`(function (ctx) {\n${script}\n})`, 'script')
  return vm.callFunction(run, self, vm.newString(input), compiled).toString()
}

parentPort!.on('message', ({ count, input, script }: { count: number; input: string; script: string }) => {
  const began = performance.now()
  const cpu = process.threadCpuUsage()
  let result = ''
  for (let index = 0; index < count; index++) result = evaluate(input, script)
  const { user, system } = process.threadCpuUsage(cpu)
  parentPort!.postMessage({ result, seconds: (performance.now() - began) / 1000, cpuSeconds: (user + system) / 1e6 })
})
parentPort!.postMessage('ready')
