/**
 * Hostile scripts for every part of the platform that runs scripts of users. The caller provides `ctx.toolbox.httpClient.get`, which
 * rejects every call. Each script must end with one of its listed failures, or with its harmless result.
 */
export interface HostileScript {
  name: string
  script: string
  /** Reasons with which the script may fail. */
  fails?: string[]
  /** JSON text of the result that the script may return. */
  returns?: string
  /**
   * Which limit ends the script. `steps`: the limit of steps, if the script loops. `memory`: the memory limit, after many steps.
   * `watchdog`: the watchdog, because the script runs a built-in function that does not check the limits.
   */
  uses: 'steps' | 'memory' | 'watchdog'
}

type Entry = [script: string, expected: string]

/** Scripts with their expected outcome: reasons of a failure, separated by `|`, or `=` and the JSON of the result. */
const groups: Record<string, Entry[]> = {
  escape: [
    ['return typeof process', '="undefined"'],
    ['return process.env', 'ERROR'],
    ['return require("fs").readFileSync("/etc/passwd", "utf8")', 'ERROR'],
    [
      'return [typeof module, typeof global, typeof Buffer, typeof __dirname].join()',
      '="undefined,undefined,undefined,undefined"',
    ],
    [
      'return [typeof setTimeout, typeof fetch, typeof Worker, typeof postMessage].join()',
      '="undefined,undefined,undefined,undefined"',
    ],
    [
      'return [typeof std, typeof os, typeof bjson, typeof print, typeof scriptArgs, typeof gc].join("")',
      '="undefinedundefinedundefinedundefinedundefinedundefined"',
    ],
    [
      'return [typeof SharedArrayBuffer, typeof Atomics, typeof performance].join()',
      '="undefined,undefined,undefined"',
    ],
    ['return globalThis.process?.version ?? null', '=null'],
    ['return ctx.constructor.constructor("return process")().pid', 'ERROR'],
    ['return ctx.toolbox.httpClient.get.constructor("return process.mainModule")()', 'ERROR'],
    ['return console.log.constructor("return globalThis.process")() ?? null', '=null'],
    ['return (async () => {}).constructor("return process")()', 'RESULT'],
    ['return (function* () {}).constructor("yield process")().next()', 'ERROR'],
    ['return Reflect.construct(Function, ["return process"])()', 'ERROR'],
    ['return this.constructor.constructor("return process")()', 'ERROR'],
    ['return [].filter.constructor("return process")()', 'ERROR'],
    ['return arguments.callee.caller', 'ERROR|RESULT|=null'],
    ['return console.log.caller', 'ERROR|RESULT|=null'],
    ['return eval("process")', 'ERROR'],
    ['return (0, eval)("this.process") ?? null', '=null'],
    ['return new Function("return this.require")() ?? null', '=null'],
    ['return import("fs")', 'RESULT'],
    ['return import.meta.url', 'SYNTAX'],
    ['import fs from "fs"; return fs', 'SYNTAX'],
    ['export default 1', 'SYNTAX'],
    ['return __proto__.constructor("return process")()', 'ERROR'],
    ['try { null.x } catch (e) { return e.constructor.constructor("return process")() }', 'ERROR'],
    [
      'Error.prepareStackTrace = (e, frames) => frames; return new Error().stack.map((f) => f.getThis?.()?.process ?? null)[0]',
      '=null|ERROR',
    ],
    ['Error.prepareStackTrace = (e, frames) => { while (true); }; return new Error().stack', 'TIMEOUT'],
    ['Error.stackTraceLimit = 1e9; return new Error("x").stack.length < 10000', '=true'],
    ['}); globalThis.escaped = 1; (function () {', 'SYNTAX|=null'],
    ['}}}}', 'SYNTAX'],
    ['/*', 'SYNTAX'],
    ['`', 'SYNTAX'],
    ['return new Proxy(globalThis, { has: () => true }).process ?? null', '=null'],
    ['with (new Proxy({}, { has: () => true, get: () => undefined })) { return process ?? null }', '=null'],
    ['return Object.getOwnPropertyNames(globalThis).filter((n) => /host|node|wasm|native/i.test(n))', '=[]'],
    ['Object.prototype.__defineGetter__("json", () => "forged"); return 1', '=1'],
    ['JSON.stringify = () => "forged"; return 1', '=1'],
    ['Object.prototype.toJSON = () => "own"; return {}', '="own"'],
    ['Array.prototype.toJSON = function () { return process }; return []', 'RESULT'],
    ['String.prototype.slice = () => { throw 1 }; throw new Error("x")', 'ERROR'],
    ['Object.defineProperty(Object.prototype, "then", { get() { throw new Error("then") } }); return {}', '={}'],
    ['Function.prototype.call = Function.prototype.apply = () => "no"; return 1', '=1'],
    ['globalThis.undefined = 1; return undefined === 1', '=false'],
    [
      'for (const key of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[key] } catch {} } return 1',
      '=1',
    ],
    [
      'for (const key of Object.getOwnPropertyNames(globalThis)) { try { globalThis[key] = null } catch {} } throw 1',
      'ERROR',
    ],
    ['Object.setPrototypeOf(Object.prototype, new Proxy({}, {})); return {}', 'ERROR'],
    ['Symbol.prototype[Symbol.toPrimitive] = () => { while (true); }; return Object(Symbol()) + ""', 'TIMEOUT|ERROR'],
  ],
  loop: [
    ['while (true) {}', 'TIMEOUT'],
    ['for (;;);', 'TIMEOUT'],
    ['do { } while (1)', 'TIMEOUT'],
    ['try { while (true); } catch { return 1 } finally { return 2 }', 'TIMEOUT'],
    ['while (true) { try { while (true); } catch {} finally { continue } }', 'TIMEOUT'],
    ['const f = () => f(); while (true) { try { f() } catch {} }', 'TIMEOUT'],
    ['label: for (;;) { continue label }', 'TIMEOUT'],
    ['function* g() { while (true) yield 1 } for (const x of g());', 'TIMEOUT'],
    ['for (const x of { [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) });', 'TIMEOUT'],
    ['return { toJSON() { while (true); } }', 'TIMEOUT'],
    ['return { get x() { for (;;); } }', 'TIMEOUT'],
    ['throw { get message() { for (;;); } }', 'TIMEOUT'],
    ['throw { toString() { for (;;); } }', 'TIMEOUT|ERROR'],
    ['class E extends Error { get name() { for (;;); } } throw new E()', 'TIMEOUT'],
    ['console.log({ toJSON() { for (;;); } })', 'TIMEOUT'],
    ['return new Proxy({}, { ownKeys() { for (;;); } })', 'TIMEOUT'],
    [
      'return new Proxy([], { get(t, k) { if (k === "length") return 2 ** 32 - 1; return 0 } })',
      'TIMEOUT|MEMORY|RESULT',
    ],
    ['[1, 2].sort(() => { for (;;); })', 'TIMEOUT'],
    ['"x".replace(/x/, () => { for (;;); })', 'TIMEOUT'],
    ['JSON.parse("[1]", () => { for (;;); })', 'TIMEOUT'],
    ['JSON.stringify([1], () => { for (;;); })', 'TIMEOUT'],
    [
      'new Array(2 ** 32 - 1).forEach(() => {}); return new Array(2 ** 31).map((x) => x).length',
      'TIMEOUT|MEMORY|ERROR',
    ],
    ['let n = 0n; while (true) n++', 'TIMEOUT'],
    ['Array.from({ length: 2 ** 40 }, () => 1)', 'TIMEOUT|MEMORY|ERROR'],
    ['const m = new Map([[1, 1]]); for (const [k] of m) { m.delete(k); m.set(k + 1, 1) }', 'TIMEOUT'],
    ['const s = new Set([1]); s.forEach((v) => { s.delete(v); s.add(v + 1) })', 'TIMEOUT'],
    ['for (;;) ctx.toolbox.httpClient.get?.("http://localhost").x', 'TIMEOUT|ERROR'],
    ['for (;;) { try { ctx.toolbox.httpClient.get(1n) } catch {} }', 'TIMEOUT'],
    ['for (;;) console.log("x".repeat(100))', 'TIMEOUT'],
    ['for (;;) Math.random()', 'TIMEOUT'],
    ['for (;;) new Date().toString()', 'TIMEOUT'],
    ['for (;;) { try { eval("for(;;);") } catch {} }', 'TIMEOUT'],
  ],
  'regular expression': [
    ['return /(a+)+$/.test("a".repeat(50) + "b")', 'TIMEOUT'],
    ['return /^(a|a)*$/.test("a".repeat(50) + "b")', 'TIMEOUT'],
    ['return /^(([a-z])+.)+[A-Z]([a-z])+$/.test("a".repeat(60))', 'TIMEOUT'],
    ['return /(.*)*(.*)*(.*)*x/.test("y".repeat(60))', 'TIMEOUT'],
    ['return "a".repeat(100000).replace(/(a*)*b/g, "")', 'TIMEOUT|MEMORY|ERROR'],
    ['return new RegExp("(".repeat(30000) + ")".repeat(30000)).test("x")', 'ERROR|MEMORY'],
    ['return new RegExp("(?:a{1000}){1000}b").test("a".repeat(2000000))', 'TIMEOUT|MEMORY|ERROR|=false'],
    ['return "x".repeat(2 ** 20).split(/(?=(x*))/).length', 'TIMEOUT|MEMORY|ERROR'],
    ['return /(?<=(a+)+b)c/.test("a".repeat(50) + "c")', 'TIMEOUT|=false'],
    ['return /[/', 'SYNTAX'],
  ],
  memory: [
    ['const a = []; while (true) a.push(new Array(1000).fill(1))', 'MEMORY'],
    ['const a = []; for (;;) a.push("x".repeat(1e6) + a.length)', 'MEMORY'],
    ['let s = "x"; for (;;) s += s', 'ERROR|MEMORY'],
    ['return new ArrayBuffer(2 ** 30).byteLength', 'MEMORY|ERROR'],
    ['return new Uint8Array(2 ** 31)', 'MEMORY|ERROR'],
    ['return new Array(1e9).fill(0)', 'MEMORY|ERROR|TIMEOUT'],
    ['const o = {}; for (let i = 0; ; i++) o["k" + i] = i', 'MEMORY|TIMEOUT'],
    ['const f = () => { const big = new Array(1e5).fill(0); return f() + big.length }; return f()', 'MEMORY|ERROR'],
    ['let a = []; for (;;) a = [a, a]', 'MEMORY|TIMEOUT'],
    ['let f = () => 1; for (;;) { const g = f; f = () => g() }', 'MEMORY|TIMEOUT'],
    ['const a = []; try { for (;;) a.push(new Uint8Array(1e6)) } catch {} return a', 'RESULT|MEMORY|TIMEOUT'],
    ['return "x".repeat(2 ** 29)', 'MEMORY|ERROR'],
    ['return "a".padEnd(2 ** 30)', 'MEMORY|ERROR'],
    ['return [..."x".repeat(1e7)].length', 'MEMORY|TIMEOUT'],
    ['const s = new Set(); for (let i = 0; ; i++) s.add({ i })', 'MEMORY|TIMEOUT'],
    ['for (;;) Promise.resolve().then(() => {})', 'MEMORY|TIMEOUT'],
    ['for (;;) queueMicrotask(() => {})', 'MEMORY|TIMEOUT'],
    ['return (2n ** 4000000n).toString().length', 'MEMORY|TIMEOUT|ERROR'],
  ],
  'deep recursion': [
    ['function f() { return f() + 1 } return f()', 'ERROR'],
    ['const f = () => [1].map(f); return f()', 'ERROR'],
    ['const o = { get x() { return this.x } }; return o.x', 'ERROR'],
    ['const o = { toString() { return String(o) } }; return String(o)', 'ERROR'],
    ['const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.x', 'ERROR'],
    ['let a = []; for (let i = 0; i < 100000; i++) a = [a]; return a', 'RESULT|ERROR|MEMORY|TIMEOUT'],
    ['return JSON.parse("[".repeat(100000) + "]".repeat(100000))', 'ERROR|RESULT'],
    ['return eval("(".repeat(20000) + ")".repeat(20000))', 'ERROR'],
    ['return eval("!".repeat(60000) + "1")', 'ERROR|=true|=false'],
    ['class A { constructor() { new A() } } new A()', 'ERROR'],
    ['JSON.stringify({ toJSON() { return JSON.stringify(this) } })', 'ERROR'],
  ],
  'strange result': [
    ['return "x".repeat(2 * 1024 * 1024)', 'RESULT'],
    ['return new Array(400000).fill(1.5)', 'RESULT'],
    ['return "\\u20ac".repeat(500000)', 'RESULT'],
    ['const a = {}; a.a = a; return a', 'RESULT'],
    ['const a = []; a.push(a); return a', 'RESULT'],
    ['return 10n', 'RESULT'],
    ['return { deep: [{ n: 1n }] }', 'RESULT'],
    ['return Promise.resolve(1)', 'RESULT'],
    ['return { a: new Promise(() => {}) }', 'RESULT'],
    ['return (async () => { while (true) await 1 })()', 'RESULT'],
    ['return Symbol("x")', 'RESULT'],
    ['return () => 1', 'RESULT'],
    ['return class {}', 'RESULT'],
    ['return (function* () { yield 1 })()', '={}'],
    ['return { [Symbol.toPrimitive]() { throw 1 }, a: 1 }', '={"a":1}'],
    ['return new Map([[1, 2]])', '={}'],
    ['return new Proxy({ a: 1 }, {})', '={"a":1}'],
    ['return new Proxy(function () {}, {})', 'RESULT'],
    ['const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy', 'RESULT|ERROR'],
    ['return { get x() { throw new Error("getter") } }', 'RESULT'],
    ['return { toJSON() { throw new Error("toJSON") } }', 'RESULT'],
    ['return { toJSON: () => undefined }', '=null'],
    ['return [undefined, NaN, -0, Infinity]', '=[null,null,0,null]'],
    ['return "\\ud800"', '="\\ud800"'],
    ['return "\\u0000"', '="\\u0000"'],
    ['return JSON.parse(\'{"__proto__": {"polluted": true}}\')', '={"__proto__":{"polluted":true}}'],
    ['return Object.create(null)', '={}'],
    ['return new (class extends Array {})(3)', '=[null,null,null]'],
    ['return new Date(NaN)', '=null'],
    ['throw null', 'ERROR'],
    ['throw undefined', 'ERROR'],
    ['throw Symbol("x")', 'ERROR'],
    ['throw Promise.reject(1)', 'ERROR'],
    ['throw () => {}', 'ERROR'],
    ['throw new Proxy(new Error("x"), { get() { throw 1 } })', 'ERROR'],
    ['throw { name: {}, message: 1n, stack: [] }', 'ERROR'],
    ['const e = new Error("x"); e.stack = "script:999999:999999 /etc/passwd"; throw e', 'ERROR'],
    ['const e = new Error("y".repeat(1e6)); throw e', 'ERROR'],
    ['await 1', 'SYNTAX'],
    ['yield 1; return', 'SYNTAX'],
  ],
  WebAssembly: [
    ['return typeof WebAssembly', '="undefined"'],
    ['return new WebAssembly.Memory({ initial: 65536 })', 'ERROR'],
    ['return WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))', 'ERROR'],
    ['"use asm"; return 1', '=1'],
  ],
  toolbox: [
    ['return ctx.toolbox.httpClient.get("file:///etc/passwd")', 'ERROR'],
    ['return ctx.toolbox.httpClient.get("http://169.254.169.254/latest/meta-data")', 'ERROR'],
    ['return ctx.toolbox.httpClient.get({ toString() { return "x" }, toJSON() { throw new Error("args") } })', 'ERROR'],
    ['return ctx.toolbox.httpClient.get(ctx)', 'ERROR'],
    ['return ctx.toolbox.httpClient.get("x".repeat(2 ** 21))', 'ERROR'],
    ['return ctx.toolbox.httpClient.get(...new Array(5000).fill(0))', 'ERROR'],
    ['const cycle = []; cycle.push(cycle); return ctx.toolbox.httpClient.get(cycle)', 'ERROR'],
    ['JSON.stringify = () => "]["; return ctx.toolbox.httpClient.get("x")', 'ERROR'],
    ['JSON.parse = () => process; return ctx.toolbox.httpClient.get("x")', 'ERROR'],
    [
      'Array.prototype.push = Array.prototype.map = () => { throw new Error("no") }; return ctx.toolbox.httpClient.get("x")',
      'ERROR',
    ],
    ['return ctx.toolbox.httpClient.get.call(null, "x")', 'ERROR'],
    ['return new ctx.toolbox.httpClient.get("x")', 'ERROR'],
    [
      'try { ctx.toolbox.httpClient.get("x") } catch (e) { return e.constructor.constructor("return process")() }',
      'ERROR',
    ],
    [
      'try { ctx.toolbox.httpClient.get("x") } catch (e) { return /node:|file:|\\.ts|at async/.test(e.stack) }',
      '=false',
    ],
  ],
}

/** The watchdog ends these scripts by terminating their thread. */
const watchdogScripts = [
  'const a = "x".repeat(1e7); let n = 0; while (n < 1e9) n += a.indexOf("y") + 2; return n',
  'const a = new Float64Array(5e5).map(Math.random); for (;;) { a.sort(); a.reverse(); a.fill(1) }',
  'const n = 3n ** 100000n; let m = n; for (;;) m = (m * n) % (n - 1n) + n',
]

export const hostileScripts: HostileScript[] = [
  ...Object.entries(groups).flatMap(([group, entries]) =>
    entries.map<HostileScript>(([script, expected]) => ({
      name: `${group}: ${script}`,
      script,
      ...expectationOf(expected),
      uses: group === 'memory' ? 'memory' : 'steps',
    })),
  ),
  ...watchdogScripts.map((script) => ({
    name: `watchdog: ${script}`,
    script,
    fails: ['TIMEOUT'],
    uses: 'watchdog' as const,
  })),
]

function expectationOf(expected: string): Pick<HostileScript, 'fails' | 'returns'> {
  if (expected.startsWith('=') && !expected.includes('|')) return { returns: expected.slice(1) }
  const parts = expected.split('|')
  const returned = parts.find((part) => part.startsWith('='))
  return { fails: parts.filter((part) => !part.startsWith('=')), ...(returned && { returns: returned.slice(1) }) }
}

/** Matches texts that exist only on the host and must not reach a script. */
export const hostTexts =
  /node:|file:\/\/|node_modules|\.ts\b|worker_threads|wasm-function|\/src\/|\/usr\/|\/root|\/home/
